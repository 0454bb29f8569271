#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Prints the tensors of a checkpoint with their shapes: state_shapes.py MANIFEST"""

import json
import sys

for name, state in sorted(json.load(open(sys.argv[1]))["states"].items()):
    print(name, [dim["size"] for dim in state["dims"]])
