# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes models whose parameters stand behind sines: a layer, a matrix of its own, and frequencies of positions and of data."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
number = numpy.random.default_rng(1)


def stored(name, *shape):
    return numpy_helper.from_array(number.standard_normal(shape).astype(numpy.float32), name)


nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Add", ["xw", "b"], ["a"]),
         helper.make_node("Sin", ["a"], ["s"]), helper.make_node("Cos", ["phase"], ["c"]),
         helper.make_node("Cast", ["steps"], ["t"], to=FLOAT), helper.make_node("Mul", ["t", "freqs"], ["tf"]),
         helper.make_node("Sin", ["tf"], ["e"]), helper.make_node("Mul", ["s", "c"], ["sc"]),
         helper.make_node("Mul", ["sc", "e"], ["y"]), helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0)]
inputs = [helper.make_tensor_value_info("x", FLOAT, ["batch", 4]), helper.make_tensor_value_info("steps", TensorProto.INT64, ["batch", 1])]
graph = helper.make_graph(nodes, "sines", inputs, [helper.make_tensor_value_info("loss", FLOAT, [])],
                          [stored("w", 4, 3), stored("b", 3), stored("phase", 1, 3), stored("freqs", 3)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), sys.argv[1])
