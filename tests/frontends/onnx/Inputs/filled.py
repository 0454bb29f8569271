#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""filled.py FOLDER: model.onnx, a small network as the onnx package ships its light ones: a batch of 1, weights that
ConstantOfShape fills, and a softmax at its end; data for a batch of 4."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPES = {"kernel": (6, 3, 3, 3), "bias": (6,), "matrix": (5, 96), "last": (5,)}
FILLS = {"kernel": 0.02, "bias": 0.1, "matrix": 0.03, "last": -0.2}


def model():
    nodes, stored = [], [numpy_helper.from_array(np.array([1, 96]), "flat")]
    for name, shape in SHAPES.items():
        stored.append(numpy_helper.from_array(np.array(shape), name + "_shape"))
        nodes.append(helper.make_node("ConstantOfShape", [name + "_shape"], [name],
                                      value=helper.make_tensor("value", TensorProto.FLOAT, [1], [FILLS[name]])))
    nodes += [helper.make_node("Conv", ["image", "kernel", "bias"], ["seen"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
              helper.make_node("LRN", ["seen"], ["normal"], size=3, alpha=0.5, beta=0.75, bias=1.0),
              helper.make_node("Reshape", ["normal", "flat"], ["row"]),
              helper.make_node("Gemm", ["row", "matrix", "last"], ["scores"], transB=1),
              helper.make_node("Softmax", ["scores"], ["shares"], axis=1)]
    graph = helper.make_graph(nodes, "filled", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("shares", TensorProto.FLOAT, [1, 5])], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    onnx.save(model(), os.path.join(folder, "model.onnx"))
    random = np.random.default_rng(7)
    np.save(os.path.join(folder, "data", "image.npy"), random.standard_normal((4, 3, 8, 8)).astype(np.float32))
    np.save(os.path.join(folder, "data", "labels.npy"), random.integers(0, 5, 4))


main()
