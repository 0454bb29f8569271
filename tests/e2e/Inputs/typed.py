# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linear model whose values all have one type.

    typed.py make TYPE FILE.onnx    writes it, and x.npy and y.npy, whose numbers every type holds
    typed.py types FILE.onnx        prints the types and names of its initializers, and whether onnx's checker takes it
"""
import struct
import sys

import onnx
from onnx import TensorProto, helper


def write(path, rows, columns, values):
    header = str({"descr": "<f4", "fortran_order": False, "shape": (rows, columns)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                   struct.pack(f"<{len(values)}f", *values))


def make(name, path):
    kind = TensorProto.DataType.Value(name)
    weights = helper.make_tensor("w", kind, [4, 3], [(i % 5 - 2) / 4 for i in range(12)])
    bias = helper.make_tensor("b", kind, [3], [0.5, -0.25, 1])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["q"]),
             helper.make_node("Sub", ["q", "y"], ["d"]), helper.make_node("Mul", ["d", "d"], ["s"]),
             helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "typed", [helper.make_tensor_value_info("x", kind, ["batch", 4]),
                                               helper.make_tensor_value_info("y", kind, ["batch", 3])],
                              [helper.make_tensor_value_info("loss", kind, [])], [weights, bias])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    write("x.npy", 8, 4, [(i % 7 - 3) / 2 for i in range(32)])
    write("y.npy", 8, 3, [(i % 3 - 1) / 2 for i in range(24)])


def types(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    print(*(f"{t.name}:{TensorProto.DataType.Name(t.data_type)}" for t in model.graph.initializer), "checked")


globals()[sys.argv[1]](*sys.argv[2:])
