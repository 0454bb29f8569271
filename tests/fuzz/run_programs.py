# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the comparisons of random models have alike: they run dtcc and its programs, and tell refusals from failures."""
import argparse
import collections
import json
import os
import shutil
import subprocess

SECONDS = 120


class Failed(Exception):
    """A command crashed, or took too long."""


class Refused(Exception):
    """A command ended with a message for the user."""


def call(words, folder, notes=None, environment={}):
    """Runs a command in a folder. Its notes and warnings go behind `notes`, and `environment` beside the variables that
    there are."""
    name = os.path.basename(words[0])
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS,
                              env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        raise Failed(f"{name} takes more than {SECONDS} s")
    if notes is not None:
        notes += [line for line in done.stderr.splitlines() if "note: " in line or "warning: " in line]
    if done.returncode in (1, 2) and "error: " in done.stderr:
        raise Refused(done.stderr.split("error: ", 1)[1].splitlines()[0])
    if done.returncode:
        raise Failed(f"{name} ends with {done.returncode}: {' '.join(done.stderr.split())[-400:]}")


def rows_of(path):
    """The lines of a file of metrics."""
    with open(path) as file:
        return [json.loads(line) for line in file]


def keep_until(folder, step):
    """Removes the checkpoints behind a step."""
    for each in os.listdir(folder):
        if each.startswith("step-") and int(each.split("-")[1]) > step:
            shutil.rmtree(os.path.join(folder, each))


def report(seed, drawn, found, folder, notes):
    """Prints notes, if they are asked for, and the first lines of what was found; else removes the folder. Returns whether
    nothing was found."""
    for line in dict.fromkeys(notes):
        print(f"seed {seed}: {line}", flush=True)
    if found:
        print(f"seed {seed}: {drawn}", *(f"    {line}" for line in found[:12]), f"    kept in {folder}", sep="\n", flush=True)
    else:
        shutil.rmtree(folder)
    return not found


def parser_of(description, keep):
    """A parser of the options that all comparisons have. `keep` is the default of --keep."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:12", metavar="A:B", help="the seeds from A up to B, without B (default: 0:12)")
    parser.add_argument("--keep", default=keep, metavar="FOLDER", help=f"where folders of failures stay (default: {keep})")
    parser.add_argument("--refusals", action="store_true", help="print the messages of what dtcc refuses")
    parser.add_argument("--dtcc", default="dtcc", metavar="PROGRAM", help="the compiler (default: that on the path)")
    return parser


def compare_seeds(parser, given, compare, good):
    """Calls compare(seed, given, counts) for each seed. Prints the counts, and returns the exit status: 0 if all seeds
    agree, and at least one is counted as `good`."""
    found = shutil.which(given.dtcc) or parser.error(f"no such program: {given.dtcc}")
    given.dtcc = os.path.abspath(found)
    os.makedirs(given.keep, exist_ok=True)
    counts = collections.Counter()
    agree = all([compare(seed, given, counts) for seed in range(*map(int, given.seeds.split(":")))])
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 0 if agree and counts[good] else 1
