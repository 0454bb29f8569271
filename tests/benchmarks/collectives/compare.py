#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime's collectives against Open MPI's, one JSON line a collective and size.

    ninja -C build collective-benchmark
    compare.py [--ranks N] [--rounds N] [--prefix "nice -n -12"]

The three ways (threads of one process, the MPI plugin, Open MPI's own collectives) are
measured in turns, and medians over the rounds are compared. `times_open_mpi` is how many
times faster than Open MPI each is. On a busy machine a prefix must give the programs the
cores ("chrt -f 5" for the seconds that a round takes): who waits gives up its core.
"""
import argparse
import json
import os
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BIN = os.path.join(os.environ.get("DTCC_BUILD", os.path.join(ROOT, "build")), "bin")


def measure(command):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True, timeout=600).stdout
    return [json.loads(line) for line in out.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prefix", default="", help="what all programs are started by")
    options = parser.parse_args()
    prefix = options.prefix.split()
    mpirun = [*prefix, "mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(options.ranks)]
    if options.ranks > len(os.sched_getaffinity(0)):
        mpirun += ["--mca", "mpi_yield_when_idle", "1"]
    ways = [[*prefix, os.path.join(BIN, "collective-benchmark"), str(options.ranks)],
            mpirun + [os.path.join(BIN, "collective-benchmark")],
            mpirun + [os.path.join(BIN, "mpi-benchmark")]]
    found = {}
    load = os.getloadavg()[0]
    for _ in range(options.rounds):
        for way in ways:
            for row in measure(way):
                times = found.setdefault((row["op"], row["bytes"]), {})
                times.setdefault(row["backend"], []).append(row["microseconds"])
    for (op, size), rounds in found.items():
        times = {name: statistics.median(values) for name, values in rounds.items()}
        line = {"op": op, "bytes": size, "ranks": options.ranks, "load_before": load}
        line.update({name + "_us": value for name, value in times.items()})
        line["times_open_mpi"] = {name: round(times["open-mpi"] / value, 2)
                                  for name, value in times.items() if name != "open-mpi"}
        print(json.dumps(line))


if __name__ == "__main__":
    main()
