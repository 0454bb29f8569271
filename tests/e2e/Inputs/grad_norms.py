#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Whether two runs have equal norms of gradients by parameter: grad_norms.py METRICS OTHER EVERY

The steps that EVERY divides have them, and no others. Together they must give the norm of all gradients. Norms may
differ by 1e-5 of themselves; a ten-millionth of the norm of all gradients is rounding.
"""

import json
import math
import sys


def norms(path, every):
    found = {}
    for row in map(json.loads, open(path)):
        if "loss" not in row:
            continue
        assert ("grad_norms" in row) == (row["step"] % every == 0), (path, row)
        if "grad_norms" in row:
            found[row["step"]] = row["grad_norms"]
            total = math.sqrt(sum(norm * norm for norm in row["grad_norms"].values()))
            assert abs(total - row["grad_norm"]) <= 1e-5 * total, (path, row)
    return found


def main():
    one, other = (norms(path, int(sys.argv[3])) for path in sys.argv[1:3])
    assert one and one.keys() == other.keys(), (one.keys(), other.keys())
    for step, wanted in one.items():
        assert wanted.keys() == other[step].keys(), (wanted.keys(), other[step].keys())
        total = math.sqrt(sum(norm * norm for norm in wanted.values()))
        for name, norm in wanted.items():
            assert abs(other[step][name] - norm) <= 1e-5 * norm + 1e-7 * total, (step, name, norm, other[step][name])
    print(f"{len(one)} steps, norms of {len(next(iter(one.values())))} parameters: equal")


main()
