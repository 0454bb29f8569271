#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Checks what the ranks of a pipeline store under a ZeRO stage, and how often they reduce it, by formula.

    pipeline_shares.py SPMD.mlir EXEC.mlir --stage=3 --ranks=2 --microbatches=4

Both files are what dtcc --emit=spmd and --emit=exec say of one plan over pp and dp. With P the bytes of the parameters
that a rank of the pipeline reads, whichever of its stages does, n the data-parallel ranks and m the micro-batches, a
rank stores P or, under stage 3, P / n of parameters, P / n of gradients and 2 P / n of AdamW's slots. Every phase that
makes gradients reduces the buckets that it adds to once, so m times a step, and nothing else does. Standard library
only; exit status 1 and a line if not.
"""

import argparse
import re
import sys
from collections import Counter


def expect(what, value, wanted):
    if value != wanted:
        sys.exit(f"pipeline_shares.py: {what} must be {wanted}, got: {value}")


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("spmd")
    parser.add_argument("exec")
    parser.add_argument("--stage", type=int, choices=(2, 3), required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--microbatches", type=int, required=True)
    arguments = parser.parse_args()
    n, m = arguments.ranks, arguments.microbatches
    with open(arguments.spmd) as file:
        spmd = file.read()
    with open(arguments.exec) as file:
        commands = re.split(r"(?=exec\.program )", file.read())[1:]
    programs = re.split(r"(?=spmd\.program )", spmd)[1:]
    expect("programs", len(commands), len(programs))
    shared = 0
    for rank, (program, table) in enumerate(zip(programs, commands)):
        lengths = {number: 4 * int(length) for number, length in
                   re.findall(rf"spmd\.bucket\s+parameter @params\.({rank}\.\d+) : (\d+) x f32", spmd)}
        whole = sum(lengths.values())
        stored = Counter()
        for name, size in re.findall(r"exec\.buffer @(params|grads|slots)\.[\d.]+ : (\d+) in @state", table):
            stored[name] += int(size)
        expect(f"bytes of parameters on rank {rank}", stored["params"], whole // n if arguments.stage == 3 else whole)
        expect(f"bytes of gradients on rank {rank}", stored["grads"], whole // n)
        expect(f"bytes of slots on rank {rank}", stored["slots"], 2 * whole // n)

        begun = set()
        for phase, repeat, body in re.findall(r"spmd\.phase @(\S+)( repeat \d+)? \{\n(.*?)\n    \}", program, re.S):
            added = set(re.findall(r"spmd\.accumulate %\S+ into @work\.([\d.]+)\[", body))
            reduced = Counter(re.findall(r"spmd\.reduce_bucket @work\.([\d.]+) ", body))
            expect(f"reductions in {phase} of rank {rank}", reduced, Counter(added))
            if added:
                expect(f"runs of {phase} of rank {rank}", repeat, f" repeat {m}")
            # Phases run in the order of the text, as no file gives a schedule.
            again = set(re.findall(r"spmd\.reduce_bucket @work\.([\d.]+) [^\n]* again", body))
            expect(f"reductions in {phase} of rank {rank} that add to others", again, added & begun)
            begun |= added
            shared += len(again)
        expect(f"buckets that rank {rank} reduces", begun, set(lengths))
        print(f"rank {rank}: {whole} bytes in {len(lengths)} buckets, gradients {stored['grads']}")
    print(f"{shared} buckets are reduced by two phases")


if __name__ == "__main__":
    main()
