# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is no value of an option is refused in the words of this project: option_nonsense.py PROGRAM.

Every option of dtcc, dtcc-plan and a program is tried without a value, with an empty one, with a word where a number belongs and
with a negative number; every flag with a value. A message names the option, and no library that reads options speaks.
"""
import subprocess
import sys

# Kinds of values that are numbers, as --help shows them.
NUMBERS = {"N", "X", "SEED", "ID", "STEP", "BYTES", "SECONDS"}
# Options of programs for GPUs, which a program for processors does not have.
OF_GPUS = {"cuda-graph", "attention"}
# Words of CLI11 and LLVM that a user of this project should not meet.
FOREIGN = ("required", "Could not convert", "FAILED", "not in range", "Allowed values", "terminate", "Stack dump")


def table(*command):
    lines = subprocess.run([*command, "--help-table"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("\t") for line in lines]


def refuse(expected, name, *words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, (words, done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1 and expected in done.stderr and name in done.stderr, (words, done.stderr)
    assert not any(word in done.stderr for word in FOREIGN), (words, done.stderr)


def options(*command):
    """The options of a tool that are read before anything else happens, tried: how many."""
    count = 0
    for row in table(command[0]):
        group, name, value = row[0], row[1], row[2]
        if name in OF_GPUS:
            continue
        words = list(command)
        if command[0] == "dtcc-plan":
            is_of_sizes = "with --transformer" in row[6]
            words = [command[0], group, "--transformer=llama3-8b" if is_of_sizes else command[1]]
        option = ("-" if len(name) == 1 else "--") + name
        if not value and len(name) > 1 and name not in ("help", "version"):
            refuse("takes no value", option, *words, f"{option}=false")
        if value:
            refuse("must have a value", option, *words, option)
            refuse("must have a value", option, *words, *([option, ""] if len(name) == 1 else [option + "="]))
        if value in NUMBERS and command[0] != "dtcc-plan":
            for text in ("nonsense", "-1"):
                refuse("got: " + text, option, *words, f"{option}={text}")
        count += 1
    return count


count = options("dtcc", "none.mlir") + options("dtcc-plan", "none.json") + options(sys.argv[1], "--info")
assert count > 150, count
print("nonsense is refused")
