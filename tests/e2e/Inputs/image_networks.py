# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the networks of tests/export/inputs/image_networks.py on a processor in f32, and under other options:

    image_networks.py DTCC FOLDER SCRATCH [TOLERANCE OPTIONS]...

The first loss on the processor must be PyTorch's to 1e-5; all of four losses under OPTIONS must be the processor's to TOLERANCE.
Prints a line a network and OPTIONS; exits with 1 if one is off.
"""
import json
import os
import subprocess
import sys

STEPS, ROWS = 4, 4


def losses(dtcc, model, data, scratch, options):
    program, metrics = os.path.join(scratch, "program"), os.path.join(scratch, "metrics.jsonl")
    for command in ([dtcc, model, f"--bind=batch={ROWS}", *options.split(), "-o", program],
                    [program, f"--data={data}", f"--steps={STEPS}", f"--metrics={metrics}"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise SystemExit(f"{model}, {options}: WRONG: {done.stderr.strip().splitlines()[-1]}")
    with open(metrics) as stream:
        return [row["loss"] for row in map(json.loads, stream) if "loss" in row]


def main():
    dtcc, folder, scratch, *rest = sys.argv[1:]
    os.makedirs(scratch, exist_ok=True)
    with open(os.path.join(folder, "losses.json")) as stream:
        expected = json.load(stream)
    wrong = False

    def say(name, options, ours, theirs, tolerance):
        off = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
        print(f"{name}, {options}: {'equal' if off <= tolerance else 'WRONG'} ({off:.1e} of {tolerance})")
        return off > tolerance
    for name, loss in expected.items():
        model, data = os.path.join(folder, f"{name}.onnx"), os.path.join(folder, "data")
        processor = losses(dtcc, model, data, scratch, "--mesh=dp=1 --precision=f32")
        wrong |= say(name, "PyTorch", processor[:1], [loss], 1e-5)
        for tolerance, options in zip(rest[::2], rest[1::2], strict=True):
            wrong |= say(name, options, losses(dtcc, model, data, scratch, options), processor, float(tolerance))
    return wrong


sys.exit(main())
