# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""positions.py FOLDER: a model with an input of positions, which has no dimension of samples, and data for three steps."""
import os
import sys

import numpy
import onnx

folder = sys.argv[1]
model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 20]>
model (float[batch, 5, 8] x, int64[5] positions, float[batch, 5, 8] y) => (float loss) <float[6, 8] table> {
    places = Gather<axis = 0>(table, positions)
    sum = Add(x, places)
    off = Sub(sum, y)
    square = Mul(off, off)
    loss = ReduceMean<keepdims = 0>(square)
}""")
model.graph.initializer.append(onnx.numpy_helper.from_array(numpy.ones((6, 8), numpy.float32), "table"))
onnx.save(model, os.path.join(folder, "model.onnx"))
for name, cells in (("x", numpy.ones((12, 5, 8), numpy.float32)), ("positions", numpy.arange(5)), ("y", numpy.zeros((12, 5, 8), numpy.float32))):
    numpy.save(os.path.join(folder, name + ".npy"), cells)
