# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes into the current folder: unknown.onnx, two nodes that nobody knows; inner/parent.onnx, whose weights lie
outside of its folder."""
from onnx import TensorProto, helper, save


def model(nodes, initializers=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


save(model([helper.make_node("Frobnicate", ["x"], ["a"], name="first", domain="my.ops"),
            helper.make_node("Unique", ["a"], ["y"], name="second")]), "unknown.onnx")

with open("w.bin", "wb") as file:
    file.write(b"\0" * 24)
weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
entry = weight.external_data.add()
entry.key, entry.value = "location", "../w.bin"
with open("inner/parent.onnx", "wb") as file:
    file.write(model([helper.make_node("Add", ["x", "w"], ["y"])], [weight]).SerializeToString())
