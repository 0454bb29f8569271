# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of processors with --tune beside the same programs without, in turns of one step.

One line a network: how many operations are measured and which ways they take; the seconds that measuring takes at start,
by the clock and of a processor (a run that measures less one that reads the choices); and the ratios of the pairs' steps
(without --tune over with it, above 1 where --tune is faster) with their quartiles. Runs in a Python with the requirements
of tools/export:

    build/export/bin/python tests/benchmarks/tuning.py gpt2-124m vit-base bert-base
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import measure
import models
import pairs


def start_seconds(command):
    """Seconds of a run of one step, by the clock and of a processor."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def choices_of(path):
    with open(path) as file:
        return dict(line.rstrip("\n").split("\t") for line in file if "\t" in line)


def compare(name, arguments, folder):
    steps = arguments.pairs + models.WARMUP + 2
    model, data = models.export(name, models.NETWORKS[name], steps, folder)
    program, table = os.path.join(folder, "program"), os.path.join(folder, "choices")
    measure.compile_model(model, program, ["--cluster=cpu:1", "--optimizer=adamw:lr=3e-4,weight_decay=0.01"])
    once = ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:arguments.threads])),
            program, f"--data={data}", "--steps=1", f"--tune={table}"]
    measuring, reading = start_seconds(once), start_seconds(once)
    choices = choices_of(table)
    sides = {}
    try:
        for side, options in (("rule", []), ("tuned", [f"--tune={table}"])):
            place = os.path.join(folder, side)
            os.makedirs(place)
            sides[side] = pairs.Program(program, [f"--data={data}", f"--steps={steps}", *options], arguments.threads, place)
        rows = []
        for number in range(arguments.pairs + models.WARMUP):
            order = ("rule", "tuned") if number % 2 else ("tuned", "rule")
            row = {side: sides[side].step() for side in order}
            rows.append((row["rule"], row["tuned"]))
        rows = rows[models.WARMUP:]
    finally:
        for side in sides.values():
            side.end()
    losses = [side.losses for side in sides.values()]
    difference = max(abs(a - b) / abs(a) for a, b in zip(*losses))
    ways = {}
    for words in choices.values():
        way = words.split()[0]
        ways[way] = ways.get(way, 0) + 1
    measure.emit(benchmark="tuning", network=name, threads=arguments.threads, pairs=len(rows), load=measure.busy(),
                 operations=len(choices), ways=ways, measuring_seconds=round(measuring[0] - reading[0], 2),
                 measuring_processor_seconds=round(measuring[1] - reading[1], 2),
                 rule_seconds=round(statistics.median(r[0] for r, _ in rows), 3),
                 tuned_seconds=round(statistics.median(t[0] for _, t in rows), 3),
                 ratio=pairs.quartiles([r[0] / t[0] for r, t in rows]),
                 processor_ratio=pairs.quartiles([r[1] / t[1] for r, t in rows]), loss_difference=float(f"{difference:.2g}"))
    if arguments.show:
        for problem, words in sorted(choices.items()):
            print(f"{words.split()[0]:14} {problem}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", choices=[[], *models.NETWORKS], default=[], help="default: all")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--show", action="store_true", help="print the way of each operation")
    arguments = parser.parse_args()
    for name in arguments.networks or models.NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            compare(name, arguments, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
