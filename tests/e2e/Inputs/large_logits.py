# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A classifier whose logits lie near 40: large_logits.py make FOLDER, or check FOLDER SAVED.

All its logits are exact in f32, so that only the loss rounds. A step of gradient descent at a rate of 1 makes the bias,
which is zero, its own gradient. `check` fails where a class that is no label has one that is 1e-6 off that in double
precision. With the logarithm of the row's sum in f32, all would be 1.9e-6 off."""
import json
import os
import struct
import sys

import numpy
import onnx
from onnx import numpy_helper, parser

ROWS, WIDTH, CLASSES = 8, 16, 510
MODEL = """<ir_version: 10, opset_import: ["" : 20]>
g (float[batch, 16] x, int64[batch] labels) => (float loss) {
  product = MatMul (x, w)  raised = Add (product, height)  logits = Add (raised, bias)
  loss = SoftmaxCrossEntropyLoss (logits, labels) }"""

command, folder = sys.argv[1:3]
HEIGHT = 34
# Rows are alike, so that no two roundings cancel.
x = numpy.ones((ROWS, WIDTH), "f")
labels = numpy.random.default_rng(3).integers(0, 100, ROWS)


def weights(seed):
    return (numpy.random.default_rng(seed).integers(-16, 17, (WIDTH, CLASSES)) / 64).astype("f")


def log_sum(w):
    return HEIGHT + numpy.log(numpy.exp(w.astype("d").sum(0)).sum())


# The weights with which f32 rounds the logarithm worst.
w = max(map(weights, range(64)), key=lambda w: abs(numpy.float32(log_sum(w)) - log_sum(w)))
if command == "make":
    model = parser.parse_model(MODEL)
    for name, cells in (("w", w), ("height", numpy.full(CLASSES, HEIGHT, "f")), ("bias", numpy.zeros(CLASSES, "f"))):
        model.graph.initializer.append(numpy_helper.from_array(cells, name))
    onnx.save(model, os.path.join(folder, "model.onnx"))
    os.makedirs(os.path.join(folder, "data"))
    for name, cells in (("x", x), ("labels", labels)):
        numpy.save(os.path.join(folder, "data", name + ".npy"), cells)
else:
    with open(sys.argv[3], "rb") as file:
        entry = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))["bias"]["data_offsets"]
        found = -numpy.frombuffer(file.read()[entry[0]:entry[1]], "f")
    wanted = numpy.exp(w.astype("d").sum(0) + HEIGHT - log_sum(w))
    others = numpy.setdiff1d(numpy.arange(CLASSES), labels)
    far = abs(found[others] / wanted[others] - 1).max()
    print(f"a gradient is {far:.1e} off")
    sys.exit(bool(far >= 1e-6))
