# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the trace of two steps of a byte-level GPT-2 under dp=2 with two micro-batches, or its forecast.

trace_modules.py TRACE [--forecast | --window]

--window: of four steps with evaluations behind the second and the fourth, the second and the third alone.
"""
import json
import sys

rows = json.load(open(sys.argv[1]))
forecast = "--forecast" in sys.argv
commands = [r for r in rows if r["ph"] == "X" and "args" in r]
if "--window" in sys.argv:
    assert {r["args"]["step"] for r in commands} == {2, 3}, {r["args"]["step"] for r in commands}
    evaluated = {r["args"]["step"] for r in commands if r["args"]["pass"] == "evaluation"}
    assert evaluated == {2}, evaluated
    names = {r["name"] for r in rows if r.get("cat") == "step"}
    assert {"step 2", "step 3", "evaluation, micro-batch 0 behind step 2"} <= names, names
    sys.exit()
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
assert {"steps", "layers", "compute"} <= threads, threads
layers = {r["name"] for r in rows if r.get("cat") == "layer"}
assert {f"blocks.{block}, {way}" for block in range(4) for way in ("forward", "backward")} <= layers, layers
# Gradients are reduced in the backward pass, or with the update.
reductions = {r["args"]["pass"] for r in commands if r["args"]["name"] in ("all_reduce", "reduce_scatter")}
assert reductions <= {"backward", "update"}, reductions
# Slices of one thread do not overlap, but for passes inside their step.
for thread in {(r["pid"], r["tid"]) for r in rows if r.get("cat") == "layer"}:
    spans = sorted((r["ts"], r["ts"] + r["dur"]) for r in rows if r["ph"] == "X" and (r["pid"], r["tid"]) == thread)
    assert all(a[1] <= b[0] + 1e-3 for a, b in zip(spans, spans[1:])), thread
assert all(r["args"]["bytes"] > 0 for r in commands if r["name"].endswith(": matmul"))
assert all(r["args"]["flops"] > 0 for r in commands if r["name"].endswith(": matmul"))
