# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""trace.py TRACE RANKS: a forecast step as Perfetto opens it: named tracks, streams whose events do not overlap, and
every micro-batch forward before it goes backward."""
import collections
import json
import sys

trace = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
names = [e for e in trace if e["ph"] == "M"]
events = [e for e in trace if e["ph"] == "X"]
ranks = {e["pid"] for e in events}
assert ranks == set(range(int(sys.argv[2]))), ranks
assert {e["pid"] for e in names if e["name"] == "process_name"} == ranks
tracks = collections.defaultdict(list)
for event in events:
    assert event["dur"] >= 0 and event["ts"] >= 0, event
    tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
assert set(tracks) == {(e["pid"], e["tid"]) for e in names if e["name"] == "thread_name"}
for spans in tracks.values():
    spans.sort()
    assert all(a[1] <= b[0] + 1e-3 for a, b in zip(spans, spans[1:])), spans
passes = collections.defaultdict(dict)
for event in events:
    if event["tid"] == 0 and event["name"][0] in "FBI" and "micro-batch" in event["args"]:
        key = (event["args"]["stage"], event["args"]["micro-batch"])
        kind = "F" if event["name"][0] == "F" else "B"
        passes[key].setdefault(kind, event["ts"])
assert passes and all(p["F"] < p["B"] for p in passes.values()), passes
stages = {stage for stage, _ in passes}
for stage, microbatch in passes:
    if stage + 1 in stages:
        assert passes[stage, microbatch]["F"] < passes[stage + 1, microbatch]["F"]
        assert passes[stage + 1, microbatch]["B"] < passes[stage, microbatch]["B"]
