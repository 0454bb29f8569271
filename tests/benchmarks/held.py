# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No plan with a part held by hand is faster than the plan that a free search finds.

A fixed table of 40 pairs of a model and a cluster. Each pair is searched freely, then with each part of PARTS held, and with
all of the mesh of the free winner held. A row says the free plan, the fastest held one, and the bound. A pair is wrong if a
held search estimates a plan that is faster by more than 0.5 % than all that the free search estimates, if a plan of the free
table or a held one is estimated below the bound of the free search, or if the held mesh of the winner gives a slower program.
Programs of held plans that are faster than the free winner's are counted apart: a search compiles four plans at most, so a
part that is held may bring others among them. Parts that a model or cluster cannot have are counted as refused.

    python3 tests/benchmarks/held.py                     # 40 pairs, some 560 searches; ten minutes
    python3 tests/benchmarks/held.py --only llama3-8b
"""
import argparse
import collections
import json
import os
import subprocess
import sys

import measure

GPT2 = "gpt2-124m"
# The model (a name of dtcc-plan, or a file of ../shared/models/structure), the cluster, the samples of a step, more options.
PAIRS = [
    (GPT2, "cpu:2", 4, ""), (GPT2, "cpu:6", 12, ""), (GPT2, "1xh100", 64, ""), (GPT2, "8xh100", 512, ""),
    (GPT2, "8xl4", 16, ""), (GPT2, "7xa100", 100, ""), (GPT2, "4x8xa100", 512, ""), (GPT2, "8xh100", 64, "--headroom=76GiB"),
    ("gpt2-1.5b", "8xh100", 512, ""), ("gpt2-1.5b", "8x8xh100", 512, ""), ("gpt2-1.5b", "4xl4", 32, ""),
    ("gpt2-1.5b", "2x8xa100", 127, ""), ("gpt2-1.5b", "8xh100", 64, "--headroom=66GiB"),
    ("llama2-7b", "8xh100", 64, ""), ("llama2-7b", "8xa100", 33, ""), ("llama2-7b", "8x8xa100", 256, ""),
    ("llama3-8b", "8xh100", 32, ""), ("llama3-8b", "4x8xh100", 127, ""), ("llama3-8b", "4x8xh100", 128, ""),
    ("llama3-8b", "8x8xh100", 128, ""), ("llama3-8b", "128x8xh100", 1024, ""), ("llama3-8b", "3x8xh100", 96, ""),
    ("llama3-8b", "8x8xh100", 128, "--gradients=bf16"), ("llama3-8b", "8x8xh100", 128, "--headroom=40GiB"),
    ("llama2-70b", "16x8xa100", 256, ""), ("llama2-70b", "256x8xa100", 1024, ""),
    ("llama3-70b", "64x8xh100", 512, ""), ("llama3-70b", "16x8xh100", 256, ""), ("llama3-70b", "32x8xh100", 510, ""),
    ("gpt3-175b", "128x8xa100", 1536, ""), ("gpt3-175b", "256x8xh100", 2048, ""),
    ("llama3-405b", "2048x8xh100", 2048, ""), ("llama3-405b", "256x8xh100", 1024, ""), ("gpt-1t", "2048x8xh100", 3072, ""),
    ("mixtral-8x7b", "4x8xh100", 128, ""), ("mixtral-8x7b", "8x8xh100", 512, ""), ("mixtral-8x22b", "32x8xh100", 512, ""),
    ("resnet50.onnx", "8xh100", 512, ""), ("resnet50.onnx", "7xa100", 1000, ""), ("bert-large.onnx", "2x8xa100", 256, "seq=512"),
]
PARTS = ["--cp-attention=ring", "--cp-attention=gather", "--recompute=none", "--recompute=selective", "--recompute=full", "--zero=1",
         "--zero=3", "--schedule=1f1b", "--mesh=tp=2", "--mesh=tp=8", "--mesh=pp=4", "--mesh=tp=2,pp=2", "--mesh=cp=2", "--stationary-weights=on",
         "--stationary-weights=off"]


def search(case, part):
    """What a search prints as JSON, or None if it refuses the part."""
    model, cluster, batch, more = case
    command = [measure.tool("dtcc-plan"), "search", f"--cluster={cluster}", "--json", "--top=20", *part.split()]
    if model.endswith(".onnx"):
        bind = f"batch={batch}" + (f",{more}" if more else "")
        command += [os.path.join(measure.SHARED, "models", "structure", model), f"--bind={bind}"]
    else:
        command += [f"--transformer={model}", f"--batch={batch}", *more.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 1:
        return None
    if done.returncode:
        raise SystemExit(f"exit status {done.returncode}: {' '.join(command)}\n{done.stderr}")
    found = json.loads(done.stdout)
    return found if found["plans"] and found["plans"][0]["fits"] else None


def least(found):
    """The least estimate among the plans of a search."""
    return min(plan["estimated_seconds"] for plan in found["plans"])


def mesh_of(plan):
    return "--mesh=" + ",".join(f"{axis}={size}" for axis, size in plan["mesh"].items())


def compare(case):
    """One row: the free winner, the fastest held plan, and what is wrong with the pair."""
    model, cluster, batch, more = case
    row = {"model": model, "cluster": cluster, "batch": batch, "options": more}
    free = search(case, "")
    if free is None:
        return {**row, "wrong": [], "nothing_fits": True}
    best, bound, wrong, held, programs = free["plans"][0], free["lower_bound_seconds"], [], {}, {}
    lowest = estimate = least(free)
    for part in PARTS:
        found = search(case, part)
        if found:
            held[part] = least(found)
            programs[part] = found["plans"][0]["seconds"]
            lowest = min(lowest, held[part])
    again = search(case, mesh_of(best))
    fastest = min(held, key=held.get)
    if held[fastest] < estimate / 1.005:
        wrong.append(f"{fastest} is estimated at {held[fastest]:.6g} s")
    if lowest < bound * (1 - 1e-9):
        wrong.append(f"a plan of {lowest:.6g} s is below the bound")
    if not again or again["plans"][0]["seconds"] / best["seconds"] - 1 > 0.005:
        wrong.append(f"its mesh held takes {again['plans'][0]['seconds'] if again else 'no plan'}")
    return {**row, "plan": best["options"], "seconds": best["seconds"], "bound": bound, "held": fastest,
            "held_over_free": held[fastest] / estimate,
            "program_over_free": min(programs.values()) / best["seconds"], "parts": len(held), "refused": len(PARTS) - len(held), "wrong": wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="pairs whose model or cluster has this in its name")
    arguments = parser.parse_args()
    counts = collections.Counter()
    for case in PAIRS:
        if arguments.only not in case[0] + " " + case[1]:
            continue
        if case[0].endswith(".onnx") and not os.path.isdir(measure.SHARED):
            counts["skipped, without ../shared"] += 1
            continue
        row = compare(case)
        print(json.dumps(row), flush=True)
        counts["pairs"] += 1
        counts["searches"] += 2 + row.get("parts", 0)
        counts["wrong"] += bool(row["wrong"])
        counts["with a faster held program"] += row.get("program_over_free", 1) < 1 / 1.005
    print(json.dumps(counts))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
