#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Checks what a ZeRO stage stores and communicates against its formulas, on the program of a rank.

    stages.py SPMD.mlir EXEC.mlir --stage=3 [--microbatches=1] [--gathers=2]

Both files are what dtcc --emit=spmd and --emit=exec say of one plan whose ranks all split the batch (dp alone).
With P the bytes of the parameters of a rank (padded to the alignment of buckets), n the ranks that share them and m
the micro-batches:

    stage  parameters  gradients  AdamW's slots  reduced                 gathered
    0      P           P          2 P            all_reduce P, once      nothing
    1      P           P          2 P / n        reduce_scatter P, once  P, once
    2      P           P / n      2 P / n        reduce_scatter P, m x   P, once
    3      P / n       P / n      2 P / n        reduce_scatter P, m x   every unit at most twice a micro-batch

Under mixed precision (--half=bf16) what is read in two bytes has a master in four: Q bytes in f32, of all P. The rest (the
scales of norms) is as above.

    stage  parameters         compute copy  gathered
    0      P                  Q / 2         nothing
    1, 2   Q / n + (P - Q)    Q / 2         Q / 2 + (P - Q), once
    3      P / n              none          every unit, in its type, at most twice a micro-batch

With --gradients=bf16 gradients are kept, and reduced, in half the bytes.

Besides, the memory that units take while they are gathered and their gradients made is at most that of the two
largest units and of the gradients of all that are open. Standard library only; exit status 1 and a line if not.
"""

import argparse
import re
import sys
from collections import defaultdict


def expect(what, value, wanted):
    if value != wanted:
        sys.exit(f"stages.py: {what} must be {wanted}, got: {value}")


def at_most(what, value, bound):
    if value > bound:
        sys.exit(f"stages.py: {what} must be at most {bound}, got: {value}")


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("spmd")
    parser.add_argument("exec")
    parser.add_argument("--stage", type=int, required=True)
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--half", choices=["bf16", "f16"], help="the compute type, if it is not f32")
    parser.add_argument("--gradients", choices=["f32", "bf16"], default="f32", help="the type of gradients")
    parser.add_argument("--gathers", type=int, default=2, help="of a unit in a micro-batch, at most")
    arguments = parser.parse_args()
    stage, m = arguments.stage, arguments.microbatches
    with open(arguments.spmd) as file:
        spmd = file.read()
    with open(arguments.exec) as file:
        commands = file.read()

    (axes,) = re.findall(r"spmd\.mesh @mesh \[(.*)\]", spmd)
    n = 1
    for _, size, _ in re.findall(r'#spmd\.axis<"([^"]+)", (\d+), (rank)>', axes):
        n *= int(size)
    units = {number: 4 * int(length) for number, length in
             re.findall(r"spmd\.bucket\s+parameter @params\.(\d+) : (\d+) x f32", spmd)}
    whole = sum(units.values())
    # The units that are read in two bytes, and what travels of each.
    halves = set(re.findall(rf"spmd\.bucket\s+compute @compute\.(\d+) : \d+ x {arguments.half}", spmd) if stage < 3 else
                 re.findall(rf"spmd\.gather_unit @params\.(\d+) over [^:]* : tensor<\d+x{arguments.half}>", spmd))
    if bool(halves) != bool(arguments.half):
        sys.exit(f"stages.py: units in {arguments.half or 'halves'}: {sorted(halves)}")
    read = {number: size // 2 if number in halves else size for number, size in units.items()}
    narrow = sum(units[number] for number in halves)

    # Stored: the buffers of the buckets.
    stored = defaultdict(int)
    for name, size, arena in re.findall(r"exec\.buffer @(params|grads|slots|work|compute)\.[\d.]+ : (\d+) in @(\w+)", commands):
        stored[name, arena] += int(size)
    share = whole // n
    part = 2 if arguments.gradients == "bf16" else 1
    sums = {number: size // part for number, size in units.items()}
    masters = narrow // n if stage else narrow
    expect("bytes of parameters", stored["params", "state"], share if stage == 3 else masters + whole - narrow)
    expect("bytes of compute copies", stored["compute", "state"], narrow // 2 if stage < 3 else 0)
    expect("bytes of gradients", stored["grads", "state"], (share if stage >= 2 else whole) // part)
    expect("bytes of slots", stored["slots", "state"], 2 * share if stage >= 1 else 2 * whole)
    expect("transient gradients", stored["work", "activations"], whole // part if stage >= 2 else 0)

    # Communicated, by phase: kind to the bytes of every call, counted on the whole side.
    calls, lasts = defaultdict(list), []
    for phase, body in re.findall(r"exec\.phase @(\w+)[^\n]*\{\n(.*?)\n    \}", commands, re.S):
        for kind, last, ins, outs, element in re.findall(
                r"exec\.collective (\w+) \w+ on @\S+ (slot \d+ )?ins\(%\S+ : memref<(?:(\d+)x)?\w+>\) outs\(%\S+ : memref<(?:(\d+)x)?(f32|bf16|f16)>\)",
                body):
            calls[phase, kind].append((4 if element == "f32" else 2) * max(int(ins or 1), int(outs or 1)))
            if last:
                lasts.append((phase, kind, calls[phase, kind][-1]))
    accumulating = [phase for phase in ("microbatch", "update") if calls[phase, "reduce_scatter"]]
    reduced = calls["microbatch", "reduce_scatter"] + calls["update", "reduce_scatter"]
    expect("reduce_scatter", sorted(reduced), sorted(sums.values()) if stage >= 1 else [])
    # Once a step, and beside the backward pass of the last micro-batch.
    once = [("microbatch", "reduce_scatter" if stage else "all_reduce", size) for size in sums.values()]
    expect("reductions in the last slot alone", sorted(lasts), sorted(once) if stage < 2 and m > 1 else [])
    if stage >= 2:
        expect("phases that reduce", accumulating, ["microbatch"])
    summed = [size for size in calls["microbatch", "all_reduce"] + calls["update", "all_reduce"] if size > 8]
    expect("all_reduce of gradients", sorted(summed), sorted(sums.values()) if stage == 0 else [])
    expect("all_gather in the update", sorted(calls["update", "all_gather"]),
           sorted(read.values()) if stage in (1, 2) else [])
    # Values that depend on no input, such as positions, are computed before the micro-batches.
    gathered = calls["prologue", "all_gather"] + calls["microbatch", "all_gather"]
    if stage == 3:
        for size in read.values():
            times = gathered.count(size) / list(read.values()).count(size)
            if not 1 <= times <= arguments.gathers:
                sys.exit(f"stages.py: a unit of {size} bytes must be gathered 1 to {arguments.gathers} times, got: {times}")
        # One gathered unit is used and one is gathered ahead. A third may still be held where the backward pass begins.
        alive, peak = {}, 0
        for line in spmd.splitlines():
            if match := re.search(r"(%\S+) = spmd\.gather_unit @params\.(\d+)", line):
                alive[match[1]] = read[match[2]]
            elif match := re.search(r"spmd\.release (%\S+) ", line):
                del alive[match[1]]
            peak = max(peak, sum(alive.values()))
        expect("units that are never released", alive, {})
        largest = sorted(read.values())
        at_most("bytes of gathered units at a time", peak, sum(largest[-3:]))
        at_most("bytes of gathered units at a time", peak, sum(largest) - (min(largest) if len(largest) > 3 else 0))
    else:
        expect("gathers in a micro-batch", gathered, [])
    print(f"stage {stage}, {n} ranks, {m} micro-batches: {whole} bytes in {len(units)} units" +
          (f", {narrow} read in {arguments.half}" if arguments.half else ""))
    for what, name in ("parameters", "params"), ("gradients", "grads"), ("slots", "slots"):
        print(what, stored[name, "state"])


if __name__ == "__main__":
    main()
