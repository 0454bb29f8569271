# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the plans of a search: compared.py SEARCH.json

Plans that were compiled stand first, by the forecasts of their programs, the others behind them by their estimates. No plan
was left out that could win, unless four were compiled.
"""
import json
import sys

found = json.load(open(sys.argv[1]))
plans = found["plans"]
compiled = [plan for plan in plans if plan["confirmed"]]
others = plans[len(compiled):]
assert compiled and not any(plan["confirmed"] for plan in others), "a plan that was compiled stands behind another"
assert len(compiled) == found["compared"], (len(compiled), found["compared"])
for some in (compiled, others):
    seconds = [plan["seconds"] for plan in some]
    assert seconds == sorted(seconds), seconds
for plan in plans:
    assert abs(sum(plan["parts"].values()) - plan["seconds"]) < 1e-9 * plan["seconds"], plan
    estimate = plan.get("estimated_parts", plan["parts"])
    assert abs(sum(estimate.values()) - plan["estimated_seconds"]) < 1e-9 * plan["seconds"], plan
assert all(plan["seconds"] == plan["estimated_seconds"] for plan in others)
limit = max(plans[0]["seconds"], min(plan["estimated_seconds"] for plan in compiled))
near = [plan for plan in others if (1 - found["estimate_error"]) * plan["estimated_seconds"] < limit]
lowered = len(compiled) + len(found.get("passed_over", []))
assert len(near) <= found["not_compared"] and (found["not_compared"] == 0 or lowered >= 4), (near, found["not_compared"])
