#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Kills a run at random times until it is through, and compares it with one that nobody killed.

    kills.py PROGRAM --work=FOLDER [--kills=10] [--seed=1] [--steps=60] -- DATA OPTIONS..

Every attempt resumes and writes a checkpoint after every second step, so that many kills meet one under way. At the end the
saved model must have the same bits, and the metrics the same rows, each step once.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("program")
parser.add_argument("--work", required=True)
parser.add_argument("--kills", type=int, default=10)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--steps", type=int, default=60)
split = sys.argv.index("--")
arguments, data = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
shutil.rmtree(arguments.work, ignore_errors=True)
os.makedirs(arguments.work)
draw = random.Random(arguments.seed)


def at(name):
    return os.path.join(arguments.work, name)


def rows(path):
    with open(path) as file:
        found = [json.loads(line, parse_float=str) for line in file]
    return [(row["step"], row["loss"], row.get("grad_norm")) for row in found if "step" in row]


once = [arguments.program, *data, f"--steps={arguments.steps}", f"--save={at('once')}", f"--metrics={at('once.jsonl')}"]
begin = time.monotonic()
subprocess.run(once, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
whole = time.monotonic() - begin
often = [arguments.program, *data, f"--steps={arguments.steps}", f"--save={at('often')}", f"--metrics={at('often.jsonl')}",
         f"--checkpoint={at('ck')}", "--checkpoint-every=2", "--keep=2", "--resume"]
killed = 0
while True:
    run = subprocess.Popen(often, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if killed < arguments.kills:
        try:
            run.wait(draw.uniform(0, whole))
        except subprocess.TimeoutExpired:
            run.kill()
            killed += 1
    errors = run.communicate(timeout=300)[1]
    if run.returncode not in (0, -9):
        sys.exit(f"kills.py: exit status {run.returncode} after {killed} kills: {errors}")
    if "left out" in errors:
        sys.exit(f"kills.py: a kill left a checkpoint that is not whole: {errors}")
    if run.returncode == 0:
        if killed >= arguments.kills:
            break
        # It was through before its kill: from the start again.
        shutil.rmtree(at("ck"))
for name in ("once", "often"):
    with open(at(name), "rb") as file:
        one = file.read()
    if name == "often" and one != first:
        sys.exit("kills.py: the saved models must be equal")
    first = one
if rows(at("once.jsonl")) != rows(at("often.jsonl")):
    sys.exit("kills.py: the metrics must be equal, each step once")
if any(name.endswith(".tmp") for name in os.listdir(at("ck"))):
    sys.exit("kills.py: something half written is left")
print(f"kills.py: {killed} kills survived")
