# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What check() must catch: a file without the nodes that say where a gradient stops.

    python unmarked.py NAME FILE.onnx     exports a module of tests/export/kept and prints what check() says
"""
import logging
import os
import sys
import warnings

import onnx
import torch

import dtcc_export
import kept

warnings.filterwarnings("ignore")
logging.getLogger("torch").setLevel(logging.ERROR)
name, path = sys.argv[1:]
torch.manual_seed(0)
module = kept.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kept", name + ".py")).Model()
x, target = (t[:kept.ROWS] for t in kept.batches())
inputs = {"x": x, "target": target}
dtcc_export.export(module, inputs, path)
print(f"as exported: {dtcc_export.check(path, module, inputs)[1]:.1e}")
model = onnx.load(path)
for node in model.graph.node:
    if node.domain == "dtcc":
        node.domain, node.op_type = "", "Identity"
        del node.input[1:]
onnx.save(model, path)
try:
    dtcc_export.check(path, module, inputs)
except dtcc_export.ExportError as error:
    print("caught:", error)
