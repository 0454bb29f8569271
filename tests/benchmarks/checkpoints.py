#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Measures checkpoints of a program: what they cost a step, and whether damage is found.

    checkpoints.py stall PROGRAM --work=FOLDER [--steps=12] [--every=4] -- DATA OPTIONS..
    checkpoints.py bits PROGRAM --work=FOLDER [--flips=100] [--seed=1] -- DATA OPTIONS..

`stall` runs the program with and without checkpoints and prints the seconds from one line of progress to the next: the
median of a step, and of the steps behind which a checkpoint began; the bytes of a checkpoint; the seconds of a plain copy of as
many bytes in memory.

`bits` writes two checkpoints, then inverts one bit of the newer one at a time, drawn evenly from all of its bytes, and
resumes: a flip is found if the older one is taken, with a warning. Prints how many were.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time


def run(command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != status:
        sys.exit(f"checkpoints.py: exit status {done.returncode}: {' '.join(command)}\n{done.stderr}")
    return done.stderr


def gaps(command):
    """Seconds between the lines of progress: the gap behind step i is at i - 1."""
    times = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            if line.startswith("step "):
                times.append(time.monotonic())
    if running.returncode != 0:
        sys.exit(f"checkpoints.py: exit status {running.returncode}")
    return [b - a for a, b in zip(times, times[1:])]


def files_of(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def stall(arguments, data):
    folder = os.path.join(arguments.work, "stall")
    shutil.rmtree(folder, ignore_errors=True)
    command = [arguments.program, *data, f"--steps={arguments.steps}"]
    plain = gaps(command)
    seen = gaps([*command, f"--checkpoint={folder}", f"--checkpoint-every={arguments.every}", "--keep=1"])
    behind = [gap for i, gap in enumerate(seen) if (i + 1) % arguments.every == 0]
    beside = [gap for i, gap in enumerate(seen) if (i + 1) % arguments.every != 0]
    (newest,) = [name for name in os.listdir(folder) if name.startswith("step-")]
    size = sum(os.path.getsize(path) for path in files_of(os.path.join(folder, newest)))
    source, target = bytearray(os.urandom(1 << 20) * (size >> 20)), bytearray(size >> 20 << 20)
    target[:] = source  # its pages are there
    begin = time.monotonic()
    target[:] = source
    copy = time.monotonic() - begin
    # The first is not the same: the second gap behind a checkpoint on measures memory that is there.
    return {"step_seconds": statistics.median(plain), "step_beside_writing_seconds": statistics.median(beside),
            "step_behind_checkpoint_seconds": behind, "bytes": size, "memory_copy_seconds": copy,
            "stall_seconds": statistics.median(behind) - statistics.median(plain)}


def bits(arguments, data):
    folder = os.path.join(arguments.work, "bits")
    shutil.rmtree(folder, ignore_errors=True)
    run([arguments.program, *data, "--steps=2", f"--checkpoint={folder}", "--checkpoint-every=1"])
    files = files_of(os.path.join(folder, "step-2"))
    sizes = [os.path.getsize(path) for path in files]
    draw = random.Random(arguments.seed)
    found, missed = 0, []
    for _ in range(arguments.flips):
        at = draw.randrange(sum(sizes) * 8)
        place, bit = at // 8, at % 8
        for path, size in zip(files, sizes):
            if place < size:
                break
            place -= size
        with open(path, "r+b") as file:
            file.seek(place)
            good = file.read(1)
            file.seek(place)
            file.write(bytes([good[0] ^ (1 << bit)]))
        errors = run([arguments.program, *data, "--steps=1", f"--checkpoint={folder}", "--resume"])
        if "step-2 is left out" in errors and "resumed from step 1" in errors:
            found += 1
        else:
            missed.append((path, place, bit))
        with open(path, "r+b") as file:
            file.seek(place)
            file.write(good)
    return {"flips": arguments.flips, "found": found, "missed": missed, "bytes": sum(sizes)}


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("what", choices=("stall", "bits"))
    parser.add_argument("program")
    parser.add_argument("--work", required=True)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--flips", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    own = sys.argv[1:]
    data = own[own.index("--") + 1:] if "--" in own else []
    arguments = parser.parse_args(own[:own.index("--")] if "--" in own else own)
    os.makedirs(arguments.work, exist_ok=True)
    result = {"stall": stall, "bits": bits}[arguments.what](arguments, data)
    print(json.dumps({"benchmark": f"checkpoint-{arguments.what}", "load": os.getloadavg()[0], **result}))
    return 1 if result.get("missed") else 0


if __name__ == "__main__":
    sys.exit(main())
