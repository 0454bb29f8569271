# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""given_placement.py SEARCH FOUND HALF COMPARED: what search says of the plan that it found, what cost says of it and of a plan
that places half of its blocks otherwise, and what compare says of both: the same plan costs the same, the other one its own."""
import json
import sys

search, found, half, compared = (json.load(open(path)) for path in sys.argv[1:])
best = search["plans"][0]
times, others = found["step_seconds"], half["step_seconds"]
assert times["total"] == best["seconds"] and found["memory_bytes"] == best["bytes"]["all"], (found, best)
print("the plan that was found: as searched")
assert others["compute"] > 1.2 * times["compute"], (times, others)
assert others["tensor"] < 0.8 * times["tensor"], (times, others)
assert half["memory_bytes"] > found["memory_bytes"], (found, half)
print(f"half of it: more work, fewer exchanges, more memory of {half['memory_bytes'] / 2**20:.2f} MiB")
step = compared["Forecast of a step"]["a step"]
assert (step["a"], step["b"]) == (times["total"], others["total"]), (step, times, others)
