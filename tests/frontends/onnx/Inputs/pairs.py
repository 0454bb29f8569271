# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports pairs of models that must become the same text, and models that must be refused with one message."""
import os
import subprocess

import onnx
from onnx import parser


def compare(command, folder, header, pairs, refused):
    """Prints what differs. `pairs` has two texts by a name, `refused` rows of name, text and a part of the message."""
    os.makedirs(folder, exist_ok=True)

    def imported(text, name):
        path = os.path.join(folder, name + ".onnx")
        onnx.save(parser.parse_model(header + text), path)
        done = subprocess.run([command, path], capture_output=True, timeout=60, text=True)
        return done.stdout if done.returncode == 0 else done.stderr

    failures = []
    for name, (one, other) in pairs.items():
        a, b = imported(one, "pair"), imported(other, "pair")
        if a != b or "func.func" not in a:
            failures.append(f"{name}:\n{a}\n-- is not --\n{b}")
    for name, text, expected in refused:
        said = imported(text, "refused")
        if expected not in said or said.count(": error: ") != 1:
            failures.append(f"{name}: wanted '{expected}', got: {said}")
    for failure in failures:
        print(failure)
    return bool(failures)
