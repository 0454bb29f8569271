#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports pairs of models, one in operator set 7, one in set 13: early_operators.py COMMAND FOLDER.

What they become must be the same text.
"""
import sys

import pairs

EARLY, LATER = ('<ir_version: 4, opset_import: ["" : %d]>\n' % version for version in (7, 13))
TWO = "g (float[2, 5] x, float[2, 5] b) => (float[2, 5] y) "
PAIRS = {op: (EARLY + TWO + f"{{ y = {op} (x, b) }}", LATER + TWO + f"{{ y = {op} (x, b) }}") for op in ("Max", "Min", "Mean", "Sum")}
PICKED = "g (float[2, 5] x) => (float[2, 3] y) "
PAIRS["TopK"] = (EARLY + PICKED + "{ y, i = TopK <axis = 1, k = 3> (x) }",
                 LATER + PICKED + "<int64[1] k = {3}> { y, i = TopK (x, k) }")
REFUSED = (
    ("TopK", EARLY + PICKED + "{ y, i = TopK <axis = 1, k = 6> (x) }", "must pick between 1 and 5 cells"),
    ("Upsample", EARLY + TWO + "{ y = Upsample <scales = [1.0, 1.0]> (x) }",
     "; for Upsample: operator set 9 or later, by onnx.version_converter.convert_version"),
)
sys.exit(pairs.compare(*sys.argv[1:3], "", PAIRS, REFUSED))
