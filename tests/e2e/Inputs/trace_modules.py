# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the trace of two steps of a byte-level GPT-2 under dp=2 with two micro-batches, or its forecast.

trace_modules.py TRACE [--forecast]
"""
import json
import sys

rows = json.load(open(sys.argv[1]))
forecast = "--forecast" in sys.argv
commands = [r for r in rows if r["ph"] == "X" and "args" in r]
products = [r for r in commands if r["name"].endswith(": matmul")]
for block in range(4):
    for part in ("qkv", "proj", "up", "down"):
        module = f"blocks.{block}.{part}"
        passes = [r["args"]["pass"] for r in products if r["args"]["module"] == module and r["pid"] == 0
                  and r["args"]["step"] == 1 and r["args"]["slot"] == 1]
        # A linear layer computes its result, and the gradients of its input and of its weight.
        assert sorted(passes) == ["backward", "backward", "forward"], (module, passes)
assert {r["cat"] for r in commands} == {"forward", "backward", "update", "communication"}
assert all(r["cat"] == "communication" for r in commands if r["name"].endswith("all_reduce"))

stretches = [r for r in rows if r.get("cat") == "step"]
names = {r["name"] for r in stretches}
step = "step 1" if forecast else "step 2"
assert {step, f"forward, micro-batch 0 of {step}", f"backward, micro-batch 1 of {step}", f"update of {step}"} <= names, names
threads = {r["args"]["name"] for r in rows if r["name"] == "thread_name"}
assert "steps" in threads and "compute" in threads, threads
