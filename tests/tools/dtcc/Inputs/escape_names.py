# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""escape_names.py GOOD BAD: models whose names hold bytes that control a terminal; the second has an unknown op."""
import sys

import onnx
from onnx import TensorProto, helper

ESCAPE = "\x1b[31mred\x07"


def model(op):
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4], [1.0, 2.0, 3.0, 4.0])
    nodes = [helper.make_node(op, ["x" + ESCAPE, "w"], ["y"], name="node" + ESCAPE),
             helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "graph" + ESCAPE,
                              [helper.make_tensor_value_info("x" + ESCAPE, TensorProto.FLOAT, [8, 4])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


onnx.save(model("Mul"), sys.argv[1])
onnx.save(model("Frobnicate"), sys.argv[2])
