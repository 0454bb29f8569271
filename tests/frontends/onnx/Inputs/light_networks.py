#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""light_networks.py FOLDER [NAME..]: trains the nine light networks of the onnx package on one rank and on two (dp=2).

They start from random weights and make two steps on the same images. The losses of both plans must be equal. The first
step must lower the loss by much more than they may differ, or equality would say nothing about the gradients.
"""
import json
import os
import subprocess
import sys

import numpy as np
import onnx

FOLDER = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
# Each network's rate, and the side of its images: those that end in a matrix or a fixed window take none but 224. Batch norms
# over two images enlarge roundings: images that differ by 1e-7 give ResNet-50 gradients that differ by 1e-4. The rates of
# networks with batch norms are therefore small. So is VGG-19's, whose loss behind a step of 0.1 is 1.6e-5 away where images differ
# by 1e-7.
NETWORKS = {
    "bvlc_alexnet": (0.01, 224),
    "densenet121": (1e-5, 64),
    "inception_v1": (0.1, 224),
    "inception_v2": (1e-6, 224),
    "resnet50": (1e-8, 224),
    "shufflenet": (1e-6, 224),
    "squeezenet": (0.1, 64),
    "vgg19": (0.01, 224),
    "zfnet512": (0.01, 224),
}
BATCH, STEPS, REACH = 2, 2, 5e-6


def scores_of(graph):
    """The values that the softmax at the end takes, if there is one."""
    last = graph.node[-1]
    return last.input[0] if last.op_type == "Softmax" else last.output[0]


def write_data(folder, graph, image, side):
    random = np.random.default_rng(7)
    rank = len(graph.output[0].type.tensor_type.shape.dim)
    cells = {image: random.standard_normal((BATCH, 3, side, side)).astype(np.float32),
             "labels": random.integers(0, 1000, (BATCH,) + (1,) * (rank - 2))}
    for name, value in cells.items():
        path = os.path.join(folder, name + ".npy")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        np.save(path, value)


def losses_of(folder, path, options, plan):
    program, metrics = os.path.join(folder, "program"), os.path.join(folder, "metrics.jsonl")
    subprocess.run(["dtcc", path, *options, f"--mesh={plan}", "-o", program], check=True)
    subprocess.run([program, f"--data={folder}", f"--steps={STEPS}", f"--metrics={metrics}"], check=True,
                   stdout=subprocess.DEVNULL)
    with open(metrics) as stream:
        return [row["loss"] for row in map(json.loads, stream) if "step" in row]


def trains(folder, name):
    path, (rate, side) = os.path.join(FOLDER, f"light_{name}.onnx"), NETWORKS[name]
    graph = onnx.load(path).graph
    stored = {tensor.name for tensor in graph.initializer}
    image = next(value.name for value in graph.input if value.name not in stored)
    folder = os.path.join(folder, name)
    write_data(folder, graph, image, side)
    sizes = f"{image}.0={BATCH}" + (f",{image}.2={side},{image}.3={side}" if side != 224 else "")
    options = [f"--bind={sizes}", "--init=random", f"--optimizer=sgd:lr={rate}",
               f"--loss=cross_entropy:logits={scores_of(graph)},labels=labels,axis=1"]
    one, two = (losses_of(folder, path, options, plan) for plan in ("dp=1", "dp=2"))
    far = max(abs(a - b) / abs(a) for a, b in zip(one, two))
    lowered = 1 - one[1] / one[0]
    good = len(one) == len(two) == STEPS and far <= REACH and lowered > 100 * REACH
    print(f"{'equal' if good else 'WRONG'}: {name}: {far:.1e} apart, the step lowers the loss by {lowered:.1e}: {one} {two}",
          flush=True)
    return good


def main():
    shipped = {name[len("light_"):-len(".onnx")] for name in os.listdir(FOLDER) if name.endswith(".onnx")}
    assert shipped == set(NETWORKS), shipped
    return not all([trains(sys.argv[1], name) for name in sys.argv[2:] or NETWORKS])


sys.exit(main())
