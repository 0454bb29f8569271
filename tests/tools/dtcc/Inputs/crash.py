# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""crash.py COMMAND..: sends a tool the signal of a crash while it reads its model, a pipe in the current folder."""
import os
import signal
import subprocess
import sys

if not os.path.exists("pipe.onnx"):
    os.mkfifo("pipe.onnx")
running = subprocess.Popen([*sys.argv[1:], "pipe.onnx"])
# Opens once the tool has.
with open("pipe.onnx", "wb"):
    running.send_signal(signal.SIGSEGV)
    running.wait(60)
