# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes models with matrices in Constant nodes: beside a weight that is an initializer, and instead of all initializers."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
number = numpy.random.default_rng(1)


def write(path, constants, initializers):
    def stored(name, *shape):
        return numpy_helper.from_array(number.standard_normal(shape).astype(numpy.float32), name)
    nodes = [helper.make_node("Constant", [], [name], value=stored(name, *shape)) for name, *shape in constants]
    nodes += [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Add", ["xw", "b"], ["a"]),
              helper.make_node("Mul", ["a", "mask"], ["m"]), helper.make_node("ReduceSum", ["m"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "constants", [helper.make_tensor_value_info("x", FLOAT, ["batch", 9, 9])],
                              [helper.make_tensor_value_info("loss", FLOAT, [])], [stored(*each) for each in initializers])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


write(sys.argv[1] + "/mask.onnx", [("mask", 9, 9)], [("w", 9, 9), ("b", 9)])
write(sys.argv[1] + "/all.onnx", [("mask", 9, 9), ("w", 9, 9), ("b", 9)], [])
