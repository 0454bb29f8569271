# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a number of the first step of two runs: near.py A.jsonl B.jsonl KEY TOLERANCE (relative)."""
import json
import sys

first, second, key, tolerance = sys.argv[1:]


def read(path):
    with open(path) as file:
        return next(row[key] for row in map(json.loads, file) if row.get("step") == 1)


wanted, got = read(first), read(second)
distance = abs(got - wanted) / abs(wanted)
print(f"{key}: {got} for {wanted}: {distance:.1e}")
sys.exit(not distance <= float(tolerance))
