# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""crash.py COMMAND..: sends the first and the last thread of a tool the signal of a crash, each in a run of its own,
while the tool reads its model, a pipe in the current folder."""
import ctypes
import os
import signal
import subprocess
import sys

if not os.path.exists("pipe.onnx"):
    os.mkfifo("pipe.onnx")
for chosen in (min, max):
    running = subprocess.Popen([*sys.argv[1:], "pipe.onnx"])
    # Opens once the tool has.
    with open("pipe.onnx", "wb"):
        thread = chosen(int(name) for name in os.listdir(f"/proc/{running.pid}/task"))
        ctypes.CDLL(None).tgkill(running.pid, thread, signal.SIGSEGV)
        running.wait(60)
