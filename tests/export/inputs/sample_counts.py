# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program does at a step in which a mask picks another number of rows in a sample than in the example: the loss is not finite,
and nothing learns of that step.

    sample_counts.py FOLDER
"""
import json
import os
import subprocess
import sys

import numpy
import torch

import dtcc_export
from against_torch import BATCH, STEPS, reference, train, worst
from sample_forms import LENGTH, MODELS, inputs

WRONG = 1  # the step


def with_another_count(data, change):
    """The data with one row more or less that is hidden, in one sample of the step WRONG."""
    given = {name: cells.clone() for name, cells in data.items()}
    hidden = given["hidden"][WRONG * BATCH + 2]
    hidden[(hidden == (change < 0)).nonzero()[0]] = change > 0
    return given


def without_step(data):
    return {name: torch.cat([cells[:WRONG * BATCH], cells[(WRONG + 1) * BATCH:], cells[:BATCH]]) for name, cells in data.items()}


def losses_without(program, folder):
    """The losses of a run that leaves out steps that are not finite."""
    subprocess.run([program, "--data=" + os.path.join(folder, "data"), f"--steps={STEPS}", f"--metrics={program}.jsonl",
                    "--on-nonfinite=skip"], check=True, capture_output=True, timeout=300)
    with open(program + ".jsonl") as file:
        return [row["loss"] for row in map(json.loads, file) if row.get("loss") is not None]


def main(folder):
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    data = {name: torch.as_tensor(cells) for name, cells in inputs().items()}
    for name in ("autoencoder", "words"):
        torch.manual_seed(1)
        model, path = MODELS[name](), os.path.join(folder, name + ".onnx")
        dtcc_export.export(model, {field: cells[:BATCH] for field, cells in data.items()}, path)
        wanted = reference(model, without_step(data), torch.float64)[:STEPS - 1]
        for change, plan in ((-1, "dp=1"), (1, "dp=2 --microbatches=2")):
            for field, cells in with_another_count(data, change).items():
                numpy.save(os.path.join(folder, "data", field + ".npy"), cells.numpy())
            print(f"{name} {change:+d} {plan}: {train(path, plan, {'batch': BATCH, 'seq': LENGTH}, folder)}")
            off = worst(losses_without(os.path.join(folder, "program"), folder), wanted)
            print(f"  without the step: {'as PyTorch' if off < 2e-6 else f'{off:.1e} off'}", flush=True)


main(sys.argv[1])
