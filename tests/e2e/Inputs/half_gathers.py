# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""half_gathers.py FOLDER: a model that picks positions of its activations, one of them twice, and rows of a parameter."""
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper, parser

MODEL = """<ir_version: 10, opset_import: ["" : 20]>
g (float[batch, 6, 8] x) => (float loss) {
  hidden = MatMul (x, w)  first = Tanh (hidden)  picked = Gather <axis = 1> (first, places)
  columns = Gather <axis = 1> (bias, order)  mixed = MatMul (picked, columns)
  squares = Mul (mixed, mixed)  loss = ReduceMean <keepdims = 0> (squares) }"""

random = np.random.default_rng(3)
model = parser.parse_model(MODEL)
for name, cells in (("w", random.standard_normal((8, 4))), ("bias", random.standard_normal((4, 5)))):
    model.graph.initializer.append(numpy_helper.from_array(cells.astype("f"), name))
for name, cells in (("places", [0, 2, 2, 5]), ("order", [4, 0, 0])):
    model.graph.initializer.append(numpy_helper.from_array(np.array(cells), name))
os.makedirs(os.path.join(sys.argv[1], "data"))
onnx.save(model, os.path.join(sys.argv[1], "model.onnx"))
np.save(os.path.join(sys.argv[1], "data", "x.npy"), random.standard_normal((4, 6, 8)).astype("f"))
