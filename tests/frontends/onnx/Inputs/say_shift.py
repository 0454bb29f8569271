# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""say_shift.py FROM TO: copies a model, adding a manifest (docs/export.md) whose loss shifts by 3."""
import json
import sys

import onnx

model = onnx.load(sys.argv[1], load_external_data=False)
entry = model.metadata_props.add()
entry.key = "dtcc.manifest"
entry.value = json.dumps({
    "version": 1,
    "parameters": [{"initializer": tensor.name} for tensor in model.graph.initializer],
    "loss": {"kind": "cross_entropy", "shift": 3}})
with open(sys.argv[2], "wb") as file:
    file.write(model.SerializeToString())
