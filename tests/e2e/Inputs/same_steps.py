#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Whether two runs trained the same, bit for bit: same_steps.py METRICS OTHER [FIRST [LAST]]

Compares the text of step, loss, gradient norm and learning rate of every step, of FIRST to LAST if given. Times differ
from run to run and are left out. Exit status 1 at the first difference, or if there is nothing to compare.
"""

import json
import sys


def steps(path, first, last):
    """Step number to what must be equal; numbers stay text, so that no digit is lost."""
    found = {}
    with open(path) as file:
        for line in file:
            record = json.loads(line, parse_float=str)
            if "loss" in record and first <= record.get("step", 0) <= last:
                found[record["step"]] = record["loss"], record.get("grad_norm"), record["lr"]
    return found


def main():
    first, last = [int(text) for text in sys.argv[3:]] + [1, 1 << 62][len(sys.argv) - 3:]
    one, other = (steps(path, first, last) for path in sys.argv[1:3])
    if not one or one.keys() != other.keys():
        sys.exit(f"same_steps.py: steps {sorted(one)} and {sorted(other)}")
    for step in one:
        if one[step] != other[step]:
            sys.exit(f"same_steps.py: step {step}: loss, gradient norm and rate are {one[step]} and {other[step]}")


if __name__ == "__main__":
    sys.exit(main())
