# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains modules of a table under plans, each against PyTorch in double precision.

A module takes inputs by name and returns its loss. It is exported, compiled for each plan ("tp=2",
"dp=2 --microbatches=2") and trained for three steps of SGD, by `main`, whose callers take its arguments:

    attention_forms.py FOLDER [--plans PLAN ..] [--only NAME ..]

Prints the greatest relative difference of a loss for each. Fails if one does not compile, or is above 2e-6 and four times
that of PyTorch in single precision."""
import argparse
import copy
import json
import os
import subprocess

import numpy
import onnx
import torch

import dtcc_export

BATCH, STEPS, RATE, REACH = 4, 3, 0.02, 2e-6


def reference(model, data, dtype):
    """PyTorch's losses."""
    model, losses = copy.deepcopy(model).to(dtype), []
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        batch = {name: cells[rows].to(dtype) if cells.is_floating_point() else cells[rows] for name, cells in data.items()}
        optimizer.zero_grad()
        loss = model(**batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train(path, plan, sizes, folder):
    """The losses under a plan, or what went wrong."""
    mesh, *options = plan.split()
    program = os.path.join(folder, "program")
    named = {d.dim_param for value in onnx.load(path).graph.input for d in value.type.tensor_type.shape.dim}
    bind = ",".join(f"{name}={size}" for name, size in sizes.items() if name in named)
    command = ["dtcc", path, f"--optimizer=sgd:lr={RATE}", f"--mesh={mesh}", *options, "-o", program]
    command += [f"--bind={bind}"] if bind else []
    run = [program, "--data=" + os.path.join(folder, "data"), f"--steps={STEPS}", f"--metrics={program}.jsonl"]
    for words in (command, run):
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["fails"])[-1][:300]
    with open(program + ".jsonl") as file:
        return [row["loss"] for row in map(json.loads, file) if "loss" in row]


def worst(got, wanted):
    return max(abs(a - b) / abs(b) for a, b in zip(got, wanted, strict=True))


def check(name, model, plans, data, sizes, folder):
    path = os.path.join(folder, name + ".onnx")
    dtcc_export.export(model, {field: cells[:BATCH] for field, cells in data.items()}, path)
    if hasattr(model, "as_plain"):  # PyTorch cannot train it on processors.
        model = model.as_plain()
    wanted, good = reference(model, data, torch.float64), True
    own = worst(reference(model, data, torch.float32), wanted)
    for plan in plans:
        got = train(path, plan, sizes, folder)
        if isinstance(got, str):
            print(f"{name} {plan}: {got}", flush=True)
            good = False
            continue
        print(f"{name} {plan}: {worst(got, wanted):.1e}, PyTorch's f32: {own:.1e}", flush=True)
        good &= worst(got, wanted) <= max(REACH, 4 * own)
    return good


def main(models, data, length=1):
    """`models`: what makes each module, by name; `data`: inputs of all steps, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--plans", nargs="+", default=["dp=1"])
    parser.add_argument("--only", nargs="+", default=list(models))
    given = parser.parse_args()
    os.makedirs(os.path.join(given.folder, "data"), exist_ok=True)
    data = {name: torch.as_tensor(cells) for name, cells in data.items()}
    for name, cells in data.items():
        numpy.save(os.path.join(given.folder, "data", name + ".npy"), cells.numpy())
    sizes, good = {"batch": BATCH, "seq": length}, []
    for name in given.only:
        torch.manual_seed(1)
        good.append(check(name, models[name](), given.plans, data, sizes, given.folder))
    print(f"{sum(good)} of {len(good)} train as PyTorch does")
    return 0 if all(good) else 1
