# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a script that describes an ONNX model, against ONNX's reference implementation.

    SCRIPT make FOLDER              FOLDER/model.onnx and FOLDER/data
    SCRIPT check FOLDER METRICS     the first step's loss and gradient norm: by onnx.reference in f64, and by central
                                    differences of it
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator


def expected(parameters, model, inputs):
    """Loss and gradient norm of model(values, type)."""
    step, total = 1e-5, 0.0

    def loss(values):
        return float(ReferenceEvaluator(model(values, TensorProto.DOUBLE)).run(None, inputs)[0])

    for name, value in parameters.items():
        for place in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                moved = {n: v.copy() for n, v in parameters.items()}
                moved[name][place] += sign * step
                ends.append(loss(moved))
            total += ((ends[0] - ends[1]) / (2 * step)) ** 2
    return loss(parameters), total ** 0.5


def main(parameters, model, inputs):
    """parameters: name -> cells; model(values of them, element type): the graph; inputs: name -> cells."""
    what, folder = sys.argv[1:3]
    if what == "make":
        os.makedirs(os.path.join(folder, "data"), exist_ok=True)
        onnx.save(model(parameters, TensorProto.FLOAT), os.path.join(folder, "model.onnx"))
        for name, cells in inputs.items():
            np.save(os.path.join(folder, "data", name + ".npy"), cells)
        return
    with open(sys.argv[3]) as file:
        first = next(row for row in map(json.loads, file) if "loss" in row)
    for name, ours, theirs in zip(("loss", "gradient norm"), (first["loss"], first["grad_norm"]),
                                  expected(parameters, model, inputs)):
        if not abs(ours - theirs) <= 1e-4 * abs(theirs):
            sys.exit(f"{name} {ours}, by onnx.reference {theirs}")
    print("as onnx.reference")
