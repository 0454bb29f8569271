#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Trains the model of expert-overflow.mlir in NumPy, where rows beyond a rank's room are dropped, and compares.

    expert_capacity.py PROGRAM --ranks=4 --room=18 --work=FOLDER

The first `room` picks of a rank's experts count, in the order of the tokens of the batch and of a token's picks; a later
pick adds nothing to its token. Gradients are differences of the loss in double precision, so nothing here knows how a
backward pass drops rows. Losses, and the numbers of dropped rows, must be those of the program.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np

SHAPES = {"router.weight": (4, 16), "experts.in": (4, 2, 6, 16), "experts.out": (4, 16, 6), "head.weight": (16, 5)}
RATE, PICKS, EXPERTS = 0.3, 2, 4


def forward(parameters, x, labels, ranks, room):
    """The mean loss, and the number of dropped rows."""
    router, inner, outer, head = (parameters[name] for name in SHAPES)
    tokens = x.reshape(-1, 16)
    scores = tokens @ router.T
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    picks = np.argsort(-p, axis=-1, kind="stable")[:, :PICKS]
    member = picks // (EXPERTS // ranks)
    kept = np.zeros(picks.shape, bool)
    for rank in range(ranks):
        wanted = np.flatnonzero(member.ravel() == rank)
        kept.ravel()[wanted[:room]] = True
    both = np.einsum("tc,egfc->tegf", tokens, inner)
    active = both[:, :, 0] / (1 + np.exp(-both[:, :, 0])) * both[:, :, 1]
    every = np.einsum("tef,edf->ted", active, outer)
    y = tokens.copy()
    for k in range(PICKS):
        row = np.arange(len(tokens))
        y += (kept[:, k] * p[row, picks[:, k]])[:, None] * every[row, picks[:, k]]
    logits = y @ head
    logits -= logits.max(-1, keepdims=True)
    losses = np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(tokens)), labels.ravel()]
    return losses.mean(), int((~kept).sum())


def train(parameters, batches, ranks, room):
    rows = []
    for x, labels in batches:
        loss, dropped = forward(parameters, x, labels, ranks, room)
        rows.append((loss, dropped))
        gradients = {}
        for name, value in parameters.items():
            gradients[name] = np.zeros_like(value)
            for at in np.ndindex(value.shape):
                before, ends = value[at], []
                for step in (1e-6, -1e-6):
                    value[at] = before + step
                    ends.append(forward(parameters, x, labels, ranks, room)[0])
                value[at] = before
                gradients[name][at] = (ends[0] - ends[1]) / 2e-6
        for name in parameters:
            parameters[name] -= RATE * gradients[name]
    return rows


def write_weights(path, parameters):
    header, data = {}, b""
    for name, value in parameters.items():
        cells = value.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(cells)]}
        data += cells
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--room", type=int, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    parameters = {name: random.normal(0, 0.5, shape).astype(np.float32).astype(np.float64)
                  for name, shape in SHAPES.items()}
    # One expert is preferred, so that its rank overflows.
    parameters["router.weight"][1] += 0.4
    x = (random.normal(0, 1, (24, 4, 16)) + 0.3).astype(np.float32)
    labels = random.integers(0, 5, (24, 4))
    np.save(options.work / "x.npy", x)
    np.save(options.work / "labels.npy", labels)
    write_weights(options.work / "start.safetensors", parameters)
    metrics = {}
    for threads in (1, 3):
        path = options.work / f"threads{threads}.jsonl"
        done = subprocess.run([options.program, f"--data={options.work}", "--steps=3", f"--lr={RATE}",
                               f"--weights={options.work / 'start.safetensors'}", "--on-moe-overflow=drop",
                               f"--threads={threads}", f"--metrics={path}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode != 0:
            sys.exit(f"expert_capacity.py: exit status {done.returncode}\n{done.stdout}")
        metrics[threads] = [row for row in map(json.loads, path.read_text().splitlines()) if "step" in row and "loss" in row]
    batches = [(x[8 * i:8 * i + 8].astype(np.float64), labels[8 * i:8 * i + 8]) for i in range(3)]
    expected = train(parameters, batches, options.ranks, options.room)
    failed = False
    for step, ((loss, dropped), one, three) in enumerate(zip(expected, metrics[1], metrics[3]), 1):
        got = one["loss"], one.get("dropped_rows", 0)
        wrong = abs(got[0] - loss) > 1e-5 * abs(loss) or got[1] != dropped
        wrong |= (three["loss"], three.get("dropped_rows", 0)) != got
        failed |= wrong
        print(f"step {step}: loss {got[0]:.7f} of {loss:.7f}, dropped {got[1]} of {dropped}", "WRONG" if wrong else "")
    if not any(dropped for _, dropped in expected):
        sys.exit("expert_capacity.py: nothing was dropped")
    sys.exit(failed)


if __name__ == "__main__":
    main()
