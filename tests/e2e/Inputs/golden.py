#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Trains a model under several plans and compares every step with PyTorch's double precision.

    golden.py MODEL.onnx --golden=FOLDER --work=FOLDER --plan='dp=2 --zero=1' [--plan=...] [--run=adamw] [--option=--loss=...]

FOLDER holds golden.json and data/*.npy as the reference models do (tests/e2e/Inputs/*, or a folder of the
shared models). A plan is the value of --mesh, then other options of dtcc; dp=1 is one rank. For each plan
the model is compiled, the program runs all golden steps, and these are compared with the golden run:

- loss and gradient norm of every step, before its update: relative difference at most --tolerance (of the norm
  --norm-tolerance, if given);
- with --save, the L2 norm of every parameter after the last step, at most --rounding times what PyTorch's
  own f32 is off by (f32_vs_f64 in golden.json); and against final.safetensors, if FOLDER has it, the relative
  L2 distance of the parameters themselves.

--also=FILE is another run that is as right (tests/e2e/Inputs/resnet says why); the nearer one counts, and only the first
has final.safetensors. --instead=FILE is a run instead of the golden one: of another number of micro-batches. It has
PyTorch's f32 too: from the step on at which that is further off than the tolerance, --rounding times its distance is
allowed. --buffers compares running statistics too, cell by cell, relative to the greatest of a buffer.

Prints one line a plan with the worst differences. Exit status 1 if one is too large. Standard library only.
"""

import argparse
import array
import json
import math
import os
import re
import shlex
import struct
import subprocess
import sys


def run(command):
    """Runs a command to its end; a failure or a hang ends the test with what it said."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        sys.exit(f"golden.py: no end within 300 s: {shlex.join(command)}")
    if done.returncode != 0:
        sys.exit(f"golden.py: exit status {done.returncode}: {shlex.join(command)}\n{done.stdout}")


def optimizer_options(golden_run):
    """The options of dtcc for the optimizer and clipping that a golden run states."""
    rule = dict(golden_run["optimizer"])
    kind = rule.pop("kind").lower()
    # dtcc has no dampening and takes Nesterov's form only if asked: the golden runs use neither.
    if rule.pop("dampening", 0) or rule.pop("nesterov", False):
        sys.exit("golden.py: a golden run with dampening or Nesterov momentum")
    options = [f"--optimizer={kind}:" + ",".join(f"{key}={value}" for key, value in rule.items())]
    if golden_run["clip"]:
        options.append(f"--clip={golden_run['clip']['max_norm']}")
    return options


def relative(value, expected):
    """|value - expected| / |expected|; infinite if value is not a number."""
    difference = abs(value - expected) / abs(expected)
    return difference if math.isfinite(difference) else math.inf


def too_far(found, run, field, tolerance, rounding):
    """Whether a step's figure is further from the run in double precision than allowed: `tolerance`, or, where the file has
    PyTorch's f32, `rounding` times the greatest distance of that up to this step."""
    own = 0.0
    for step, (value, exact) in enumerate(zip(found, run["f64"][field])):
        if "f32" in run:
            own = max(own, relative(run["f32"][field][step], exact))
        if relative(value, exact) > max(tolerance, rounding * own):
            return True
    return False


def read_safetensors(path):
    """Name to (shape, f32 values)."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            if entry["dtype"] != "F32":
                continue  # counters
            tensors[name] = entry["shape"], array.array("f", data[begin:end])
    return tensors


def transpose(shape, values):
    rows, columns = shape
    return array.array("f", (values[row * columns + column] for column in range(columns) for row in range(rows)))


def compare_parameters(saved, golden, file_names, golden_run, golden_folder, buffers):
    """The worst relative difference of an L2 norm, and the worst relative L2 distance (None without golden values), the worst
    difference of a cell of a buffer."""
    # The file has the parameters after the first run.
    final = os.path.join(golden_folder, "final.safetensors")
    first = golden_run is next(iter(golden["runs"].values()))
    whole = read_safetensors(final) if first and os.path.exists(final) else {}
    ruled_by_rounding = golden_run.get("parameters_ruled_by_rounding", {})
    merged = golden["onnx"][file_names].get("merged_by_exporter", {})
    worst_norm = worst_distance = 0.0
    compared = 0
    for parameter, held in golden["onnx"][file_names]["names"].items():
        name = held["initializer"] if isinstance(held, dict) else held
        if parameter in ruled_by_rounding or name in merged or parameter not in golden_run["final_l2_f64"]:
            continue
        if name not in saved:
            sys.exit(f"golden.py: {name} ({parameter}) is not in the saved file, which holds: {' '.join(saved)}")
        shape, values = saved[name]
        norm = math.sqrt(sum(value * value for value in values))
        worst_norm = max(worst_norm, relative(norm, golden_run["final_l2_f64"][parameter]))
        compared += 1
        if parameter in whole:
            expected = whole[parameter][1]
            turned = isinstance(held, dict) and held.get("transposed")
            actual = transpose(shape, values) if turned else values
            distance = math.sqrt(sum((a - e) ** 2 for a, e in zip(actual, expected, strict=True)))
            worst_distance = max(worst_distance, distance / norm)
    worst_buffer = 0.0
    held = golden_run.get("final_buffers") or {
        name: whole[name][1] for name in golden_run.get("final_buffers_l2", ()) if name in whole}
    if buffers and not held:
        sys.exit("golden.py: no running statistics to compare")
    for buffer, expected in held.items() if buffers else ():
        # The file has the names of the modules around this one too.
        name = next((name for name in saved if name == buffer or name.endswith("." + buffer)), None)
        if not name:
            sys.exit(f"golden.py: {buffer} is not in the saved file, which holds: {' '.join(saved)}")
        greatest = max(abs(cell) for cell in expected)
        worst_buffer = max(worst_buffer,
                           max(abs(a - e) for a, e in zip(saved[name][1], expected, strict=True)) / greatest)
    if not compared:
        sys.exit("golden.py: no parameter to compare")
    return worst_norm, worst_distance if whole else None, worst_buffer


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("model")
    parser.add_argument("--golden", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--plan", action="append", required=True)
    parser.add_argument("--run", default="adamw")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--norm-tolerance", type=float)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--rounding", type=float, default=4)
    parser.add_argument("--option", action="append", default=[], help="a further option of dtcc")
    parser.add_argument("--also", help="another run that is as right")
    parser.add_argument("--instead", help="a run instead of the golden one")
    parser.add_argument("--buffers", action="store_true")
    arguments = parser.parse_args()

    with open(os.path.join(arguments.golden, "golden.json")) as file:
        golden = json.load(file)
    golden_run = golden["runs"][arguments.run]
    accepted = [golden_run]
    for path in filter(None, (arguments.also, arguments.instead)):
        with open(path) as file:
            accepted.append(json.load(file))
    if arguments.instead:
        accepted.pop(0)
    form = os.path.basename(arguments.model).removesuffix(".onnx")
    binding = f"--bind=batch={golden['batch']}" + (f",seq={golden['seq']}" if golden["seq"] else "")
    os.makedirs(arguments.work, exist_ok=True)
    failed = False
    for plan in arguments.plan:
        mesh, *further = plan.split()
        stem = os.path.join(arguments.work, "-".join(re.findall(r"[a-z0-9]+", f"{form} {arguments.run} {plan}")))
        run(["dtcc", arguments.model, binding, f"--mesh={mesh}", *further, *optimizer_options(golden_run),
             *arguments.option, "-o", stem])
        metrics, saved = stem + ".jsonl", stem + ".safetensors"
        steps = len(golden_run["f64"]["loss"])
        run([stem, f"--data={os.path.join(arguments.golden, 'data')}", f"--steps={steps}", f"--metrics={metrics}"]
            + ([f"--save={saved}"] if arguments.save else []))

        with open(metrics) as file:
            lines = [json.loads(line) for line in file]
        ranks = math.prod(int(size) for axis in mesh.split(",") for size in axis.split("=")[1].split("x"))
        if lines[0]["ranks"] != ranks:
            sys.exit(f"golden.py: {plan}: {ranks} ranks were asked for, got: {lines[0]['ranks']}")
        trained = [line for line in lines if "step" in line]
        if [line["step"] for line in trained] != list(range(1, steps + 1)):
            sys.exit(f"golden.py: {plan}: steps 1 to {steps} were asked for, got: {[line['step'] for line in trained]}")
        loss, number = min((max(relative(line["loss"], value) for line, value in zip(trained, candidate["f64"]["loss"])), i)
                           for i, candidate in enumerate(accepted))
        expected = accepted[number]["f64"]
        norm = max(relative(line["grad_norm"], value) for line, value in zip(trained, expected["gradient_norm"]))
        allowed = accepted[number] if arguments.instead else {"f64": expected}
        good = not any(too_far([line[measured] for line in trained], allowed, field, tolerance, arguments.rounding)
                       for measured, field, tolerance in (
                           ("loss", "loss", arguments.tolerance),
                           ("grad_norm", "gradient_norm", arguments.norm_tolerance or arguments.tolerance)))
        report = f"loss {loss:.1e} grad_norm {norm:.1e}"
        if arguments.save:
            own = (accepted[number] if arguments.instead else golden_run)["f32_vs_f64"]
            bound = arguments.rounding * max(value for name, value in own.items() if not name.startswith("loss"))
            l2, distance, cell = compare_parameters(read_safetensors(saved), golden, form, accepted[number],
                                                    arguments.golden, arguments.buffers)
            good = good and l2 <= bound and cell <= bound and (distance is None or distance <= bound)
            report += f" final_l2 {l2:.1e}"
            if distance is not None:
                report += f" parameters {distance:.1e}"
            elif accepted[number] is not golden_run:
                report += f" (run {number + 1} of {len(accepted)})"
            if arguments.buffers:
                report += f" buffers {cell:.1e}"
            report += f" (at most {bound:.1e})"
        print(f"{os.path.basename(arguments.golden)} {form} {arguments.run:12} {plan:26} {report}"
              + ("" if good else "  TOO FAR"), flush=True)
        failed = failed or not good
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
