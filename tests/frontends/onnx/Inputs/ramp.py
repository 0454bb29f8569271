# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a model that gathers the rows -1, 0 and 1 of a parameter."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

rows = numpy.arange(12, dtype=numpy.float32).reshape(4, 3)
nodes = [helper.make_node("Constant", [], [name], value_int=value) for name, value in (("first", -1), ("end", 2), ("step", 1))]
nodes += [helper.make_node("Range", ["first", "end", "step"], ["i"]),
          helper.make_node("Gather", ["rows", "i"], ["y"]), helper.make_node("Mul", ["x", "y"], ["xy"]),
          helper.make_node("ReduceSum", ["xy"], ["loss"], keepdims=0)]
graph = helper.make_graph(nodes, "ramp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 3])],
                          [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [numpy_helper.from_array(rows, "rows")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), sys.argv[1])
