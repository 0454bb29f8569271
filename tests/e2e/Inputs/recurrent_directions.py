# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes joint.onnx, whose layers run backwards or both ways, parts.onnx, where layers that run forwards read reversed
sequences instead, and data for both: recurrent_directions.py FOLDER. onnx.reference knows no direction but forwards."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Layers of more than 16 steps are one op, shorter ones are written out.
BATCH, SEQ, WIDTH, WORDS = 4, int(os.environ.get("STEPS", 5)), 4, 8


def model(joint):
    random = np.random.default_rng(3)
    cells = {"table": (WORDS, WIDTH)}
    for name, directions, gates in (("lstm", 2, 4), ("gru", 1, 3)):
        cells |= {f"{name}_w": (directions, gates * WIDTH, WIDTH), f"{name}_r": (directions, gates * WIDTH, WIDTH),
                  f"{name}_b": (directions, 2 * gates * WIDTH)}
    values = [numpy_helper.from_array((random.standard_normal(shape) * 0.7).astype(np.float32), name)
              for name, shape in cells.items()]
    for name, numbers in (("0", [0]), ("1", [1]), ("2", [2]), ("-1", [-1]), ("far", [-(1 << 62)])):
        values.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
    nodes, made = [], iter(range(1000))

    def op(name, *inputs, outputs=1, **attributes):
        results = [f"v{next(made)}" for _ in range(outputs)]
        nodes.append(helper.make_node(name, inputs, results, name=f"{name}_{results[0]}", **attributes))
        return results[0] if outputs == 1 else results

    def layer(kind, x, weights, direction):
        """States [seq, direction, batch, width], and the last ones [direction, batch, width]."""
        return op(kind, x, *weights, outputs=2, hidden_size=WIDTH, direction=direction)

    def backwards(x):
        return op("Slice", x, "-1", "far", "0", "-1")

    x = op("Transpose", op("Gather", "table", "ids"), perm=[1, 0, 2])
    lstm, gru = (tuple(f"{name}_{part}" for part in "wrb") for name in ("lstm", "gru"))
    if joint:
        states, last = layer("LSTM", x, lstm, "bidirectional")
    else:
        first, second = (tuple(op("Slice", each, *at, "0") for each in lstm) for at in (("0", "1"), ("1", "2")))
        ahead, end = layer("LSTM", x, first, "forward")
        back, start = layer("LSTM", backwards(x), second, "forward")
        states, last = op("Concat", ahead, backwards(back), axis=1), op("Concat", end, start, axis=0)
    y = op("ReduceSum", states, "1", keepdims=0)
    if joint:
        states, final = layer("GRU", y, gru, "reverse")
    else:
        states, final = layer("GRU", backwards(y), gru, "forward")
        states = backwards(states)
    logits = op("Einsum", op("Squeeze", states, "1"), "table", equation="sbw,vw->bvs")
    # The two directions of what is remembered are told apart.
    ends = op("Mul", op("Slice", last, "0", "1", "0"), op("Exp", op("Slice", last, "1", "2", "0")))
    loss = op("Sum", op("SoftmaxCrossEntropyLoss", logits, "ids"), op("ReduceMean", ends, keepdims=0),
              op("ReduceMean", op("Mul", final, final), keepdims=0))
    graph = helper.make_graph(nodes, "directions", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", SEQ])],
                              [helper.make_tensor_value_info(loss, TensorProto.FLOAT, [])], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


folder = sys.argv[1]
os.makedirs(os.path.join(folder, "data"), exist_ok=True)
for name, joint in (("joint", True), ("parts", False)):
    onnx.save(model(joint), os.path.join(folder, name + ".onnx"))
np.save(os.path.join(folder, "data", "ids.npy"), np.random.default_rng(5).integers(0, WORDS, (BATCH, SEQ)))
