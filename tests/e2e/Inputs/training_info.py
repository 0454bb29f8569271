# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the training of tests/inputs/training-forms/training_info.onnx start in the middle: training_info.py FOLDER OUT.

FOLDER is tests/inputs/training-forms. Writes OUT/started.onnx, whose moments are not zero and whose count is 5, and
OUT/started.json, the losses of 10 steps in double precision, by the definition of the operator Adam.
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

BATCH, STEPS, COUNT = 8, 10, 5
folder, out = sys.argv[1:3]
model = onnx.load(os.path.join(folder, "training_info.onnx"))
algorithm = model.training_info[0].algorithm
names = ["w1", "b1", "w2", "b2"]
random = np.random.default_rng(3)
p = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer}
v, h = {}, {}
for tensor in algorithm.initializer:
    parameter, _, slot = tensor.name.rpartition("_")
    shape = tuple(tensor.dims)
    if tensor.name == "step":
        tensor.CopyFrom(numpy_helper.from_array(np.array(COUNT, np.int64), "step"))
    elif parameter in names:
        values = (random.normal(0, 0.1, shape) if slot == "v" else random.uniform(0.01, 0.02, shape)).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
        (v if slot == "v" else h)[parameter] = values.astype(np.float64)
assert set(v) == set(h) == set(p) == set(names)
os.makedirs(out, exist_ok=True)
onnx.save(model, os.path.join(out, "started.onnx"))

update = next(node for node in algorithm.node if node.op_type == "Adam")
a = {x.name: float(x.f) for x in update.attribute}
rate = float(numpy_helper.to_array(next(t for t in algorithm.initializer if t.name == "rate")))
x = np.load(os.path.join(folder, "data", "x.npy")).astype(np.float64)
labels = np.load(os.path.join(folder, "data", "labels.npy"))
losses = []
for step in range(STEPS):
    rows = slice(step * BATCH, (step + 1) * BATCH)
    before = x[rows] @ p["w1"] + p["b1"]
    hidden = np.maximum(before, 0)
    logits = hidden @ p["w2"] + p["b2"]
    logits -= logits.max(1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    losses.append(-logs[np.arange(BATCH), labels[rows]].mean())
    d = np.exp(logs)
    d[np.arange(BATCH), labels[rows]] -= 1
    d /= BATCH
    dh = (d @ p["w2"].T) * (before > 0)
    gradients = {"w1": x[rows].T @ dh, "b1": dh.sum(0), "w2": hidden.T @ d, "b2": d.sum(0)}
    t = COUNT + step
    for name in names:
        g = a["norm_coefficient"] * p[name] + gradients[name]
        v[name] = a["alpha"] * v[name] + (1 - a["alpha"]) * g
        h[name] = a["beta"] * h[name] + (1 - a["beta"]) * g * g
        corrected = rate * np.sqrt(1 - a["beta"] ** t) / (1 - a["alpha"] ** t)
        p[name] = (1 - a["norm_coefficient_post"]) * (p[name] - corrected * v[name] / (np.sqrt(h[name]) + a["epsilon"]))
with open(os.path.join(out, "started.json"), "w") as file:
    json.dump(losses, file)
