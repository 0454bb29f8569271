# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two searches found the same: equal_searches.py ONE.json OTHER.json

Plans have equal options; bytes and the bound are within a ten-thousandth. Times are within half a percent: which values stay in a
kernel differs a little, and each kernel takes the time in which it starts in every micro-batch.
"""
import json
import sys

one, other = (json.load(open(path)) for path in sys.argv[1:])


def near(a, b, share=1e-4):
    return abs(a - b) <= share * max(abs(a), abs(b))


assert near(one["lower_bound_seconds"], other["lower_bound_seconds"]), (one["lower_bound_seconds"], other["lower_bound_seconds"])
assert one["parameters"] == other["parameters"], (one["parameters"], other["parameters"])
assert len(one["plans"]) == len(other["plans"]) > 1
for a, b in zip(one["plans"], other["plans"]):
    assert a["options"] == b["options"] and near(a["seconds"], b["seconds"], 5e-3), (a["options"], a["seconds"], b["options"], b["seconds"])
    assert near(a["bytes"]["all"], b["bytes"]["all"]), (a["options"], a["bytes"], b["bytes"])
