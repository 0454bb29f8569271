# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first plan of each search was compiled, and its step is estimated within a share of its program's forecast:
estimated_time.py SHARE SEARCH.json .."""
import json
import sys

for path in sys.argv[2:]:
    plan = json.load(open(path))["plans"][0]
    ratio = plan["estimated_seconds"] / plan["seconds"]
    print(f"{path}: {plan['options']}: estimated {ratio:.3f} times as long as the program forecasts")
    assert plan["estimated_seconds"] != plan["seconds"], "not compiled"
    assert abs(ratio - 1) <= float(sys.argv[1]), (path, ratio)
