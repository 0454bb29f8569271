# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interrupt.py MODEL: interrupts dtcc while it links; the linker is a script that waits. Works in the current folder."""
import os
import signal
import subprocess
import sys
import time

os.mkdir("bin")
with open("bin/c++", "w") as script:
    # Says its number where it stands, so that its end can be seen.
    script.write("#!/bin/sh\necho $$ > linker\nsleep 60\necho late > late\n")
os.chmod("bin/c++", 0o755)
environment = dict(os.environ, PATH=os.path.abspath("bin") + os.pathsep + os.environ["PATH"])


def alive(process):
    """Whether it runs; a dead one that nobody has waited for does not."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


for number in (signal.SIGINT, signal.SIGTERM):
    running = subprocess.Popen(["dtcc", sys.argv[1], "--bind=batch=8", "-o", "program"], env=environment)
    end = time.monotonic() + 60
    while not (os.path.exists("linker") and open("linker").read().endswith("\n")):
        if running.poll() is not None or time.monotonic() > end:
            running.kill()
            sys.exit(f"dtcc did not come to link: {running.poll()}")
        time.sleep(0.02)
    linker = int(open("linker").read())
    during = os.listdir()
    running.send_signal(number)
    status = running.wait(30)
    os.remove("linker")
    while alive(linker) and time.monotonic() < end:
        time.sleep(0.02)
    if status != 3 or os.listdir() != ["bin"] or alive(linker) or not any("program.tmp" in name for name in during):
        sys.exit(f"{number!r}: status {status}, linker alive: {alive(linker)}, while linking: {during}, "
                 f"left behind: {os.listdir()}")
