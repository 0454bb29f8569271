# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""padded_queries.py FOLDER: means of what attention gives for five positions: tokens, or the channels of a convolution."""
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper, parser

LOSS = """q = MatMul (rows, pq)  k = MatMul (rows, pk)  v = MatMul (rows, pv)
  y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)  z = Tanh (y)  loss = ReduceMean <keepdims = 0> (z) }"""
MODELS = {"tokens": "g (int64[batch, 5] x) => (float loss) { rows = Gather (table, x) " + LOSS,
          "channels": "g (float[batch, 1, 2] x) => (float loss) { rows = Conv (x, w, b) " + LOSS}
STATES = {"tokens": {"table": (7, 3), "pq": (3, 8), "pk": (3, 4), "pv": (3, 4)},
          "channels": {"w": (5, 1, 2), "b": (5,), "pq": (1, 8), "pk": (1, 4), "pv": (1, 4)}}

random = np.random.default_rng(3)
for name, text in MODELS.items():
    model = parser.parse_model('<ir_version: 10, opset_import: ["" : 23]> ' + text)
    for state, shape in STATES[name].items():
        model.graph.initializer.append(numpy_helper.from_array(random.standard_normal(shape).astype("f"), state))
    folder = os.path.join(sys.argv[1], name)
    os.makedirs(os.path.join(folder, "data"))
    onnx.save(model, os.path.join(folder, "model.onnx"))
    cells = random.integers(0, 7, (4, 5)) if name == "tokens" else random.standard_normal((4, 1, 2)).astype("f")
    np.save(os.path.join(folder, "data", "x.npy"), cells)
