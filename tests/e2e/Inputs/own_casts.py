# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a model that casts a value and a constant to bf16 and back, with its data; or, with the metrics of a run, compares its
loss with that of numpy, which rounds where the model says."""
import json
import sys

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

x = (numpy.arange(32, dtype=numpy.float32).reshape(4, 8) * 0.377 - 5.1).astype(numpy.float32)
table = numpy.cos(numpy.arange(8, dtype=numpy.float32))
weight = numpy.linspace(0.5, 1.5, 8, dtype=numpy.float32)


def rounded(cells):
    """To bf16 and back."""
    return cells.astype(ml_dtypes.bfloat16).astype(numpy.float32)


if len(sys.argv) > 1:
    with open(sys.argv[1]) as rows:
        loss = next(row["loss"] for row in map(json.loads, rows) if "loss" in row)
    scaled = x * weight

    def mean(value, constant):
        return float(((value.astype(float) * constant) ** 2).mean())
    true = mean(rounded(scaled), rounded(table))
    others = mean(scaled, table), mean(scaled, rounded(table)), mean(rounded(scaled), table)
    assert all(abs(other / true - 1) > 2e-5 for other in others), [other / true - 1 for other in others]
    assert abs(loss / true - 1) < 1e-6, (loss, true, others)
    sys.exit()


def there_and_back(name, half):
    return [helper.make_node("Cast", [name], [name + "_half"], to=half),
            helper.make_node("Cast", [name + "_half"], [name + "_again"], to=TensorProto.FLOAT)]


nodes = [helper.make_node("Mul", ["x", "weight"], ["scaled"]), *there_and_back("scaled", TensorProto.BFLOAT16),
         *there_and_back("table", TensorProto.BFLOAT16), helper.make_node("Mul", ["scaled_again", "table_again"], ["product"]),
         helper.make_node("Mul", ["product", "product"], ["squares"]), helper.make_node("ReduceMean", ["squares"], ["loss"], keepdims=0)]
nodes.insert(0, helper.make_node("Constant", [], ["table"], value=numpy_helper.from_array(table)))
graph = helper.make_graph(nodes, "own_casts", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
                          [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [numpy_helper.from_array(weight, "weight")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), "model.onnx")
numpy.save("data/x.npy", x)
