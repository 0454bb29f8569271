#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Checks what a run that is under way does when something happens to it.

    signals.py PROGRAM --data=FOLDER --work=FOLDER           signals, a closed pipe, a corpus that is cut short
    signals.py PROGRAM --data=FOLDER --work=FOLDER --two     a second run in its folder
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("program")
parser.add_argument("--data", required=True)
parser.add_argument("--work", required=True)
parser.add_argument("--two", action="store_true")
arguments = parser.parse_args()
shutil.rmtree(arguments.work, ignore_errors=True)
os.makedirs(arguments.work)
data = f"--data={arguments.data}"


def at(name):
    return os.path.join(arguments.work, name)


def start(*options):
    """A run of many steps, behind its first."""
    run = subprocess.Popen([arguments.program, "--steps=100000000", *options], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    if not run.stdout.readline().startswith("step 1/"):
        sys.exit(f"signals.py: no first step: {run.stderr.read()}")
    return run


def end(run, status, what):
    _, errors = run.communicate(timeout=120)
    if run.returncode != status:
        sys.exit(f"signals.py: {what}: exit status {run.returncode}, not {status}: {errors}")
    return errors


def saved(folder):
    with open(os.path.join(folder, "latest")) as file:
        name = file.read().strip()
    with open(os.path.join(folder, name, "manifest.json")) as file:
        return json.load(file)["step"]


if arguments.two:
    first = start(data, f"--checkpoint={at('ck')}")
    second = subprocess.run([arguments.program, "--steps=2", data, f"--checkpoint={at('ck')}"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if second.returncode != 1 or len(second.stdout.splitlines()) != 1:
        sys.exit(f"signals.py: the second run must be refused by one message, got: {second.stdout}")
    print(second.stdout)
    first.kill()
    first.wait()
    # A lock ends with its process, however that ends.
    subprocess.run([arguments.program, "--steps=2", data, f"--checkpoint={at('ck')}"], check=True, timeout=120,
                   stdout=subprocess.DEVNULL)
else:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU):
        run = start(data, f"--checkpoint={at(number.name)}")
        run.send_signal(number)
        if number not in (signal.SIGTERM,):
            run.send_signal(number)  # schedulers repeat these
        end(run, 3, number.name)
        saved(at(number.name))
    # nohup's choice stands.
    run = subprocess.Popen(["nohup", arguments.program, "--steps=3", data], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    run.stdout.readline()
    run.send_signal(signal.SIGHUP)
    end(run, 0, "nohup")
    # Nobody reads the progress any more.
    run = start(data, f"--checkpoint={at('pipe')}")
    run.stdout.close()
    errors = run.stderr.read()
    if run.wait(timeout=120) != 3:
        sys.exit(f"signals.py: closed pipe: exit status {run.returncode}, not 3: {errors}")
    saved(at("pipe"))
    # A corpus that becomes shorter. The system would read the rest of its last page as zeros.
    for left in (100, (1 << 20) - 1000):
        with open(at("corpus"), "wb") as file:
            file.write(bytes(i % 251 if i % 2 == 0 else 0 for i in range(1 << 20)))
        run = start(f"--tokens={at('corpus')}:u16", f"--checkpoint={at('cut')}-{left}")
        os.truncate(at("corpus"), left)
        errors = end(run, 1, f"a corpus of which {left} bytes were left").splitlines()
        if sum("error:" in line for line in errors) != 1 or "corpus: it became shorter" not in errors[-1]:
            sys.exit(f"signals.py: one message must name the corpus, got: {errors}")
print("signals.py: passed")
