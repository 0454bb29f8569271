# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives a model a manifest with one condition on its sizes: say_conditions.py MODEL OUTPUT CONDITION [LINE]"""
import json
import sys

import onnx

model = onnx.load(sys.argv[1], load_external_data=False)
row = dict(zip(("condition", "line"), sys.argv[3:]))
facts = {"version": 1, "parameters": [], "conditions": [row]}
model.metadata_props.add(key="dtcc.manifest", value=json.dumps(facts))
onnx.save(model, sys.argv[2])
