#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of bytes and other unsigned integers, whose sums and products wrap round; against_reference.py says how it is
called."""
import against_reference
import numpy as np
from onnx import TensorProto, helper, numpy_helper

BATCH, WIDTH = 4, 6


def parameters():
    return {"weight": np.random.default_rng(3).standard_normal((WIDTH, 2))}


def model(values, kind):
    """The graph with parameters `values` in type `kind`: a scalar loss of bytes [batch, width]."""
    dtype = np.float32 if kind == TensorProto.FLOAT else np.float64
    nodes = [helper.make_node("Add", ["bytes", "more"], ["sum"]),                       # wraps at 256
             helper.make_node("Max", ["sum", "least"], ["bounded"]),
             helper.make_node("Cast", ["bounded"], ["words"], to=TensorProto.UINT16),
             helper.make_node("Mul", ["words", "factor"], ["product"]),                 # wraps at 65536
             helper.make_node("Cast", ["product"], ["cells"], to=kind),
             helper.make_node("Div", ["cells", "scale"], ["small"]),
             helper.make_node("MatMul", ["small", "weight"], ["y"]),
             helper.make_node("Tanh", ["y"], ["t"]),
             helper.make_node("ReduceMean", ["t"], ["loss"], keepdims=0)]
    stored = {"more": np.array([200], np.uint8), "least": np.array([10], np.uint8), "factor": np.array([999], np.uint16),
              "scale": np.array(65536, dtype), **{n: v.astype(dtype) for n, v in values.items()}}
    graph = helper.make_graph(nodes, "unsigned", [helper.make_tensor_value_info("bytes", TensorProto.UINT8, ["batch", WIDTH])],
                              [helper.make_tensor_value_info("loss", kind, [])],
                              [numpy_helper.from_array(v, n) for n, v in stored.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


if __name__ == "__main__":
    against_reference.main(parameters(), model, {"bytes": np.random.default_rng(5).integers(0, 256, (BATCH, WIDTH)).astype(np.uint8)})
