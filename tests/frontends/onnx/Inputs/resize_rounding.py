# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes resizes whose positions are cells or middles of cells, and a layer norm whose statistics the loss reads."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def numbers(name, *values):
    return numpy_helper.from_array(numpy.array(values, numpy.float32), name)


def save(path, nodes, width, initializers):
    nodes = nodes + [helper.make_node("ReduceSum", [nodes[-1].output[0]], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "picked", [helper.make_tensor_value_info("x", FLOAT, ["batch", width])],
                              [helper.make_tensor_value_info("loss", FLOAT, [])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), path)


def resize(name, width, scale, **attributes):
    nodes = [helper.make_node("Mul", ["x", "w"], ["xw"]),
             helper.make_node("Resize", ["xw", "", "scale"], ["y"], axes=[1], mode="nearest", **attributes)]
    save(f"{sys.argv[1]}/{name}.onnx", nodes, width, [numbers("w", *[1] * width), numbers("scale", scale)])


resize("symmetric", 7, 0.5, coordinate_transformation_mode="half_pixel_symmetric", nearest_mode="ceil")
resize("rounded", 4, 4 / 3, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
norm = [helper.make_node("Mul", ["x", "v"], ["xv"]),
        helper.make_node("LayerNormalization", ["xv", "w"], ["y", "mean", "inverse"], epsilon=0.25),
        helper.make_node("Mul", ["mean", "inverse"], ["m"]), helper.make_node("Add", ["y", "m"], ["sum"])]
save(f"{sys.argv[1]}/statistics.onnx", norm, 4, [numbers("v", 1, -1, 1, -1), numbers("w", 1, 2, 3, 4)])
