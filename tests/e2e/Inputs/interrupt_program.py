# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interrupt_program.py COMMAND ...: sends SIGINT, then in a second run SIGTERM, after its first step: status must be 3."""
import signal
import subprocess
import sys

for number in (signal.SIGINT, signal.SIGTERM):
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        line = running.stdout.readline()
        running.send_signal(number)
        running.stdout.read()
        print(running.stderr.read(), end="")
        if not line.startswith("step ") or running.wait(60) != 3:
            sys.exit(f"{number!r} after '{line.strip()}': status {running.returncode}")
