#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of recurrent layers, one after the other; against_reference.py says how it is called."""
import os

import against_reference
import numpy as np
from onnx import TensorProto, helper, numpy_helper

# Layers of more than 16 steps are one op, shorter ones are written out.
BATCH, SEQ, WIDTH, WORDS = 4, int(os.environ.get("STEPS", 5)), 4, 8


def parameters():
    random = np.random.default_rng(3)
    cells = {"table": (WORDS, WIDTH), "start": (1, 1, WIDTH)}
    for name, gates in (("rnn", 1), ("gru", 3), ("late", 3), ("lstm", 4)):
        cells |= {f"{name}_w": (1, gates * WIDTH, WIDTH), f"{name}_r": (1, gates * WIDTH, WIDTH), f"{name}_b": (1, 2 * gates * WIDTH)}
    return {name: random.standard_normal(shape) * 0.7 for name, shape in cells.items()}


def model(values, kind):
    """The graph with parameters `values` in type `kind`: a scalar loss of ids [batch, seq]."""
    dtype = np.float32 if kind == TensorProto.FLOAT else np.float64
    nodes, made = [], iter(range(1000))

    def op(name, *inputs, outputs=1, **attributes):
        results = [f"v{next(made)}" for _ in range(outputs)]
        nodes.append(helper.make_node(name, inputs, results, name=f"{name}_{results[0]}", **attributes))
        return results[0] if outputs == 1 else results

    # onnx.reference knows no third result of an LSTM.
    def layer(kind, name, x, *rest, **attributes):
        """The states of all steps [seq, batch, width], and what is remembered at the end."""
        states, *last = op(kind, x, name + "_w", name + "_r", name + "_b", *rest, outputs=2, hidden_size=WIDTH, **attributes)
        return op("Squeeze", states, "axis1"), last

    x = op("Transpose", op("Gather", "table", "ids"), perm=[1, 0, 2])
    x, last = layer("RNN", "rnn", x)
    x, _ = layer("GRU", "gru", x)
    # The next starts with what the first ends with, and with a parameter.
    x, _ = layer("GRU", "late", x, "", op("Add", last[0], "start"), linear_before_reset=1)
    x, last = layer("LSTM", "lstm", x, "", op("Expand", "start", "shape"))
    logits = op("Einsum", x, "table", equation="sbw,vw->bvs")
    loss = op("Sum", op("SoftmaxCrossEntropyLoss", logits, "ids"), *[op("ReduceMean", op("Mul", y, y), keepdims=0) for y in last])
    initializers = [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in (("axis1", [1]), ("shape", [1, BATCH, WIDTH]))]
    initializers += [numpy_helper.from_array(v.astype(dtype), n) for n, v in values.items()]
    graph = helper.make_graph(nodes, "recurrent", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", SEQ])],
                              [helper.make_tensor_value_info(loss, kind, [])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


if __name__ == "__main__":
    against_reference.main(parameters(), model, {"ids": np.random.default_rng(5).integers(0, WORDS, (BATCH, SEQ))})
