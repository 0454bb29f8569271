# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""estimated_activations.py PLAN.json LEAST MOST: what a search's estimate has of activations, over what its first plan's
program holds, lies between LEAST and MOST."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    plan = json.load(file)["plans"][0]
estimate, real = (plan[key]["activations"] + plan[key]["working"] for key in ("estimated_bytes", "bytes"))
if not float(sys.argv[2]) <= estimate / real <= float(sys.argv[3]):
    sys.exit(f"estimate of activations {estimate:.0f} B, in the program {real:.0f} B: {estimate / real:.3f} of them")
