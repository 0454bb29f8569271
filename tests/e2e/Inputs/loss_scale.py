#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Checks what a program with a dynamic loss scale does when its scale is far too large.

    loss_scale.py PROGRAM --data=FOLDER --work=FOLDER

- The first steps are skipped, each halves the scale, then training begins.
- The parameters after one skipped step and after all but the last of them are the same bits.
- A run that was interrupted by a checkpoint in the middle goes on with the scale and the counts it had.
"""

import argparse
import json
import os
import struct
import subprocess
import sys


def run(program, data, *options):
    done = subprocess.run([program, f"--data={data}", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"loss_scale.py: exit status {done.returncode}\n{done.stdout}")


def steps_of(path):
    with open(path) as file:
        return [line for line in map(json.loads, file) if "step" in line]


def parameters(path):
    """Name to bytes, of all that is saved but the loss scale itself."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()
            if name != "__metadata__" and not name.startswith("loss_scale.")}


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("program")
    parser.add_argument("--data", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)

    def at(name):
        return os.path.join(arguments.work, name)

    run(arguments.program, arguments.data, "--steps=24", f"--metrics={at('whole.jsonl')}")
    steps = steps_of(at("whole.jsonl"))
    # Those in a row from the first on; near the limit a batch may be skipped later too.
    skipped = next((i for i, step in enumerate(steps) if step["skipped"] <= i), len(steps))
    if not 3 <= skipped <= 16:
        sys.exit(f"loss_scale.py: the first 3 to 16 steps must be skipped, got: {skipped}")
    for step, after in zip(steps, steps[1:]):
        before = steps[step["step"] - 2]["skipped"] if step["step"] > 1 else 0
        if after["loss_scale"] != step["loss_scale"] * (0.5 if step["skipped"] > before else 1):
            sys.exit(f"loss_scale.py: a skipped step, and no other, halves the scale, got: {step} then {after}")
    if steps[-1]["loss"] >= steps[0]["loss"]:
        sys.exit(f"loss_scale.py: must learn once the scale fits, got: {steps[0]['loss']} then {steps[-1]['loss']}")

    saved = []
    for count in (1, skipped):
        run(arguments.program, arguments.data, f"--steps={count}", f"--save={at(f'after{count}.safetensors')}")
        saved.append(parameters(at(f"after{count}.safetensors")))
    if saved[0] != saved[1]:
        sys.exit("loss_scale.py: skipped steps must leave the parameters as they are")
    run(arguments.program, arguments.data, f"--steps={skipped + 1}", f"--save={at('moved.safetensors')}")
    if parameters(at("moved.safetensors")) == saved[0]:
        sys.exit("loss_scale.py: a step that is not skipped must change the parameters")

    middle = skipped - 1
    run(arguments.program, arguments.data, f"--steps={middle}", f"--checkpoint={at('checkpoint')}")
    run(arguments.program, arguments.data, "--steps=24", f"--checkpoint={at('checkpoint')}", "--resume",
        f"--metrics={at('resumed.jsonl')}")
    keys = ("step", "loss", "loss_scale", "skipped")
    if [[line[key] for key in keys] for line in steps_of(at("resumed.jsonl"))] != [
            [line[key] for key in keys] for line in steps[middle:]]:
        sys.exit("loss_scale.py: a resumed run must go on as the whole one did")
    return 0


if __name__ == "__main__":
    sys.exit(main())
