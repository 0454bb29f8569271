#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""random_numbers.py make DIR | check METRICS: a model whose loss of step k is the mean of the k-th statistic of its random numbers.

Rows of the data say which statistic counts, so that one program measures all. `check` holds each to what its distribution says,
within five deviations, and two steps of the same statistic to be of different numbers.
"""
import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

BATCH, CELLS = 16, 4096
# Statistics that a step measures: name, expected mean, and standard deviation of one cell.
STATISTICS = [
    ("normal", 0, 1), ("normal squared", 1, 2**0.5), ("normal cubed", 0, 15**0.5), ("normal to the fourth", 3, 96**0.5),
    ("scaled normal", 2, 3), ("uniform", 1, 4 / 12**0.5), ("uniform squared", 7 / 3, 3.1), ("one in four", 0.25, 0.433),
    ("product of two normals", 0, 1), ("product with the next cell", 0, 1), ("normal", 0, 1),
]


def make(folder):
    nodes, made = [], iter(range(1000))

    def op(name, *inputs, **attributes):
        result = f"v{next(made)}"
        nodes.append(helper.make_node(name, inputs, [result], name=f"{name}_{result}", **attributes))
        return result

    row = op("ReduceSum", "pick", "axis1", keepdims=1)
    cells = op("Mul", op("Expand", row, "shape"), "zero")                                   # [batch, cells]
    z, scaled, u = op("RandomNormalLike", cells), op("RandomNormalLike", cells, mean=2.0, scale=3.0), op("RandomUniformLike", cells, low=-1.0, high=3.0)
    coin = op("Bernoulli", op("Add", cells, "quarter"))
    other = op("RandomNormal", shape=[CELLS])
    neighbour = op("Concat", op("Slice", z, "one", "end", "axis1"), op("Slice", z, "nothing", "one", "axis1"), axis=1)
    square = op("Mul", z, z)
    measured = [z, square, op("Mul", square, z), op("Mul", square, square), scaled, u, op("Mul", u, u), coin, op("Mul", z, other), op("Mul", z, neighbour), z]
    assert len(measured) == len(STATISTICS)
    means = op("Concat", *[op("ReduceMean", x, "axis1", keepdims=1) for x in measured], axis=1)
    loss = op("ReduceMean", op("ReduceSum", op("Mul", op("Mul", means, "weight"), "pick"), "axis1", keepdims=0), keepdims=0)
    nodes[-1].output[0] = "loss"
    constants = {"axis1": np.array([1]), "one": np.array([1]), "nothing": np.array([0]), "end": np.array([CELLS]), "shape": np.array([1, CELLS]),
                 "zero": np.array(0, np.float32), "quarter": np.array(0.25, np.float32), "weight": np.ones(len(measured), np.float32)}
    graph = helper.make_graph(
        nodes, "random", [helper.make_tensor_value_info("pick", TensorProto.FLOAT, ["batch", len(measured)])],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), f"{folder}/model.onnx")
    np.save(f"{folder}/pick.npy", np.repeat(np.eye(len(measured), dtype=np.float32), BATCH, axis=0))


def check(metrics):
    steps = [json.loads(line) for line in open(metrics)]
    losses = [step["loss"] for step in steps if step["event"] == "step"] if "event" in steps[1] else [step["loss"] for step in steps if "loss" in step]
    assert len(losses) == len(STATISTICS), losses
    for (name, mean, deviation), loss in zip(STATISTICS, losses):
        bound = 5 * deviation / (BATCH * CELLS)**0.5
        assert abs(loss - mean) <= bound, f"{name}: {loss}, expected {mean} within {bound}"
    assert losses[0] != losses[-1], "two steps have the same numbers"
    print(f"{len(losses)} statistics as they should be")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
