#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Compares a program of early updates with one of late updates: early_updates.py LATE EARLY

Beside each program stands what its run wrote, PROGRAM.jsonl. Losses must have the same text. Norms of all gradients are
added up in another order, and may differ by rounding. The early program must plan less memory.
"""

import json
import re
import subprocess
import sys


def steps(program):
    with open(program + ".jsonl") as file:
        records = [json.loads(line) for line in file]
    return [(record["loss"], record["grad_norm"]) for record in records if "grad_norm" in record]


def memory(program):
    done = subprocess.run([program, "--info"], stdout=subprocess.PIPE, text=True, check=True)
    number, unit = re.search(r"^memory +([0-9.]+) (\S+) a rank", done.stdout, re.MULTILINE).groups()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


late, early = (steps(program) for program in sys.argv[1:3])
if not late or len(late) != len(early) or any(a[0] != b[0] for a, b in zip(late, early)):
    sys.exit(f"early_updates.py: losses {late} and {early}")
worst = max(abs(a[1] - b[1]) / a[1] for a, b in zip(late, early))
if not worst < 1e-6:
    sys.exit(f"early_updates.py: norms differ by {worst}")
before, behind = (memory(program) for program in sys.argv[1:3])
if behind >= before:
    sys.exit(f"early_updates.py: memory {behind:.0f} instead of {before:.0f} bytes")
print(f"losses equal, norms within {worst:.1e}, memory {behind:.0f} instead of {before:.0f} bytes")
