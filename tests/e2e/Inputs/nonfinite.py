#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Checks what a program does about one batch that is not finite.

    nonfinite.py PROGRAM --data=FOLDER --input=NAME --batch=N --work=FOLDER [--value=nan] [--bad=4] [--options=...] [--early]

The batch of step `bad`, an even number, becomes `value` in the input NAME. With --max-grad-norm-ratio among the options
the value may be finite, and is too large. Then the program must:

- by default stop with status 9 and one message, behind a checkpoint whose state is the clean run's;
- with --on-nonfinite=skip train, bit for bit, what it trains on data without that batch, but for programs of early updates;
- with --on-nonfinite=rollback train what it trains on data without that batch and those since the checkpoint.
"""

import argparse
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys

import numpy

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("program")
parser.add_argument("--data", required=True)
parser.add_argument("--input", required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--work", required=True)
parser.add_argument("--value", type=float, default=float("nan"))
parser.add_argument("--bad", type=int, default=4)
parser.add_argument("--options", default="")
parser.add_argument("--early", action="store_true")
arguments = parser.parse_args()
batch, bad, steps = arguments.batch, arguments.bad, arguments.bad + 2  # the step whose batch is bad, and those of a run

shutil.rmtree(arguments.work, ignore_errors=True)
inputs = {name[:-4]: numpy.load(os.path.join(arguments.data, name))[:batch * 2] for name in os.listdir(arguments.data)
          if name.endswith(".npy")}
# Enough different batches for every step.
inputs = {name: numpy.concatenate([numpy.roll(array, i, axis=0) for i in range(steps // 2 + 1)])
          for name, array in inputs.items()}


def at(name):
    return os.path.join(arguments.work, name)


def write(folder, arrays):
    os.makedirs(at(folder))
    for name, array in arrays.items():
        numpy.save(at(f"{folder}/{name}.npy"), array)


def without(*numbers):
    """The data but for the batches of these steps."""
    drop = [i for number in numbers for i in range((number - 1) * batch, number * batch)]
    return {name: numpy.delete(array, drop, axis=0) for name, array in inputs.items()}


def run(status, data, *options):
    command = [arguments.program, f"--data={at(data)}", *shlex.split(arguments.options), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    if done.returncode != status:
        sys.exit(f"nonfinite.py: exit status {done.returncode}, not {status}: {shlex.join(command)}\n{done.stderr}")
    return done.stderr


def parameters(name):
    """Name to bytes of all that is saved, but for the loss scale: the bad step halved it."""
    with open(at(name), "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()
            if name != "__metadata__" and not name.startswith("loss_scale.")}


def same(one, other):
    if parameters(one) != parameters(other):
        sys.exit(f"nonfinite.py: {one} and {other} must be equal")


poisoned = {name: array.copy() for name, array in inputs.items()}
poisoned[arguments.input][(bad - 1) * batch:bad * batch] = arguments.value
write("clean", inputs)
write("poisoned", poisoned)
write("skipped", without(bad))
write("back", without(bad - 1, bad))

# Stop: the state of the step before is saved, once.
errors = run(9, "poisoned", f"--steps={steps}", f"--checkpoint={at('stop')}", f"--save={at('none')}").splitlines()
if sum("error:" in line for line in errors) != 1 or f"of step {bad} is" not in errors[-1].replace(f"step {bad} are", f"step {bad} is"):
    sys.exit("nonfinite.py: one message must name the step, got: " + "\n".join(errors))
if os.path.exists(at("none")):
    sys.exit("nonfinite.py: a run that stopped saved its model")
run(0, "clean", f"--steps={bad - 1}", f"--checkpoint={at('stop')}", "--resume", "--resume-anyway",
    f"--save={at('stopped')}")
run(0, "clean", f"--steps={bad - 1}", f"--save={at('before')}")
same("stopped", "before")
# Without progress nothing is written, and nothing but the message is said.
run(9, "poisoned", f"--steps={steps}", f"--checkpoint={at('stop')}", "--resume")
if os.path.exists(at(f"stop/step-{bad}")):
    sys.exit("nonfinite.py: a step that was not finite has a checkpoint")

# Skip, which programs of early updates refuse.
if not arguments.early:
    run(0, "poisoned", f"--steps={steps}", "--on-nonfinite=skip", f"--save={at('skip')}", f"--metrics={at('m')}")
    run(0, "skipped", f"--steps={steps - 1}", f"--save={at('left-out')}")
    same("skip", "left-out")
    rows = [row for row in map(json.loads, open(at("m"))) if "step" in row]
    counts = [row.get("skipped", 0) for row in rows]
    if [count - counts[0] for count in counts] != [0] * (bad - 1) + [1] * (steps - bad + 1):
        sys.exit(f"nonfinite.py: the metrics must count one skipped step, got: {rows}")
    # The count is kept by checkpoints.
    folder = f"--checkpoint={at('skipping')}"
    run(0, "poisoned", f"--steps={bad}", "--on-nonfinite=skip", folder)
    run(0, "poisoned", f"--steps={steps}", "--on-nonfinite=skip", folder, "--resume", f"--save={at('skip-resumed')}")
    same("skip-resumed", "left-out")
    # A run that goes on right before the bad step knows it as well.
    folder = f"--checkpoint={at('knowing')}"
    run(0, "poisoned", f"--steps={bad - 1}", folder)
    run(0, "poisoned", f"--steps={steps}", "--on-nonfinite=skip", folder, "--resume", f"--save={at('knows')}")
    same("knows", "left-out")

# Roll back: from step 4 to the checkpoint of step 2, and on with the data of step 5.
run(0, "poisoned", f"--steps={steps - 2}", "--on-nonfinite=rollback", f"--checkpoint={at('rolling')}",
    "--checkpoint-every=2", f"--save={at('rolled')}", f"--metrics={at('m')}")
run(0, "back", f"--steps={steps - 2}", f"--save={at('short')}")
same("rolled", "short")
numbers = [row["step"] for row in map(json.loads, open(at("m"))) if "step" in row]
if numbers != list(range(1, steps - 1)):
    sys.exit(f"nonfinite.py: the metrics must hold each step once, got: {numbers}")
# Nothing to go back to.
run(9, "poisoned", f"--steps={steps}", "--on-nonfinite=rollback", f"--checkpoint={at('fresh')}")
print("nonfinite.py: passed")
