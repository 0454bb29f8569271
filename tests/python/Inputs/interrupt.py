# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an interrupt from the keyboard does to a run: interrupt.py MODEL.onnx."""
import os
import signal
import sys

import dtcc

program = dtcc.compile(sys.argv[1], cluster="cpu:1", bind="batch=2,seq=8")

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it


def interrupt(row):
    if row.get("step") == 3:
        os.kill(os.getpid(), signal.SIGINT)


try:
    program.run(tokens="corpus.bin:u16", steps=5000, checkpoint="ck", progress=interrupt)
except KeyboardInterrupt:
    (name,) = [each for each in os.listdir("ck") if each.startswith("step-")]
    print("interrupted, checkpoint of step", name.removeprefix("step-"))
