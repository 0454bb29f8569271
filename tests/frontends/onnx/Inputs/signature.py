# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""signature.py FOLDER: files as torch.onnx.export(dynamo=True) writes them, with its notes of the module's tensors.

kept.onnx      y = scale * (x @ weight^T + positions + offsets): a parameter that is a scalar, a weight that a linear layer wants
               transposed, a buffer and a constant
computed.onnx  the same with a weight that the exporter computed of two parameters, which the file lacks
quiet.onnx     kept.onnx without the notes
start.onnx     a GRU whose weights the exporter moved, and whose start is zeros that the trace made
"""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
draw = numpy.random.default_rng(3)


def line(kind, name):
    return f"{kind[0].lower()}_{name}: {kind} target='{name}'" + (" persistent=True" if kind == "BUFFER" else "")


def write(name, weight, tensors, operands):
    def value(of, shape):
        return helper.make_tensor_value_info(of, TensorProto.FLOAT, shape)

    product = helper.make_node("MatMul", ["x", weight], ["p"], name="product")
    product.metadata_props.add(key="pkg.torch.onnx.fx_node",
                               value=f"%linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, {operands}), kwargs = {{}})")
    nodes = [product, helper.make_node("Add", ["p", "positions"], ["q"]), helper.make_node("Add", ["q", "offsets"], ["r"]),
             helper.make_node("Mul", ["r", "scale"], ["y"]), helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    cells = {weight: (6, 5), "positions": (5,), "offsets": (5,), "scale": ()}
    graph = helper.make_graph(nodes, "g", [value("x", [4, 6])], [value("loss", [])], [
        numpy_helper.from_array(numpy.asarray(draw.normal(size=shape), dtype=numpy.float32), of) for of, shape in cells.items()])
    if tensors:
        graph.metadata_props.add(key=SIGNATURE, value="\n# inputs\n" + "\n".join(line(*each) for each in tensors) + "\nx: USER_INPUT\n\n# outputs\n")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), f"{sys.argv[1]}/{name}.onnx")


rest = [("PARAMETER", "scale"), ("BUFFER", "positions"), ("CONSTANT_TENSOR", "offsets")]
write("kept", "val_3", [("PARAMETER", "weight"), *rest], "%p_weight, %p_bias")
write("computed", "permute", [("PARAMETER", "up"), ("PARAMETER", "down"), *rest], "%permute")
write("quiet", "val_3", [], "%p_weight")

layer = helper.make_node("GRU", ["x", "val_1", "val_2", "", "", "val_3"], ["y"], hidden_size=2)
layer.metadata_props.add(key="pkg.torch.onnx.fx_node", value="%gru : [num_users=1] = call_function[target=torch.ops.aten.gru.input](args = (%x, %zeros, "
                         "[%p_weight, %p_recurrence], False, 1, 0.0, True, False, False), kwargs = {})")
sizes = {"val_1": (1, 6, 3), "val_2": (1, 6, 2), "val_3": (1, 4, 2)}
graph = helper.make_graph([layer, helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)], "g",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 4, 3])], [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                          [numpy_helper.from_array(numpy.asarray(draw.normal(size=shape) * (of != "val_3"), dtype=numpy.float32), of)
                           for of, shape in sizes.items()])
graph.metadata_props.add(key=SIGNATURE, value="\n# inputs\n" + "\n".join(line("PARAMETER", each) for each in ("weight", "recurrence")))
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), f"{sys.argv[1]}/start.onnx")
