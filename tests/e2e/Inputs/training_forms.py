#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Trains a model by the training that its file states, and compares each step's loss with its reference.

    training_forms.py MODEL.onnx --losses=FILE.json:KEY:.. --bind=batch=8 --data=FOLDER --work=FOLDER --plan='dp=2 --zero=1' ..

KEY:.. leads to the list of losses in FILE.json. No option says anything of loss or optimizer, but those of --option. Exit
status 1 if a loss is off by more than --tolerance, relatively. Standard library only.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"training_forms.py: exit status {done.returncode}: {shlex.join(command)}\n{done.stdout}")


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("model")
    parser.add_argument("--losses", required=True)
    parser.add_argument("--bind", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--plan", action="append", required=True)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--tolerance", type=float, default=1e-5)
    arguments = parser.parse_args()
    path, *keys = arguments.losses.split(":")
    with open(path) as file:
        expected = json.load(file)
    for key in keys:
        expected = expected[key]
    os.makedirs(arguments.work, exist_ok=True)
    failed = False
    for plan in arguments.plan:
        mesh, *further = plan.split()
        stem = os.path.join(arguments.work, "-".join(re.findall(r"[a-z0-9]+", f"{arguments.model[-40:]} {plan}")))
        metrics = stem + ".jsonl"
        run(["dtcc", arguments.model, f"--bind={arguments.bind}", f"--mesh={mesh}", *further, *arguments.option, "-o", stem])
        run([stem, f"--data={arguments.data}", f"--steps={len(expected)}", f"--metrics={metrics}"])
        with open(metrics) as file:
            losses = [line["loss"] for line in map(json.loads, file) if "step" in line]
        if len(losses) != len(expected):
            sys.exit(f"training_forms.py: {len(expected)} steps were asked for, got: {len(losses)}")
        worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
        good = worst <= arguments.tolerance  # false for NaN
        failed |= not good
        print(f"{os.path.basename(arguments.model)} {plan}: loss {worst:.1e}{'' if good else ' TOO FAR'}", flush=True)
    sys.exit(failed)


main()
