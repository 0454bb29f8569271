#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published plans of large runs against those of the search: forecasts of both, and where the published one stands.

    tests/benchmarks/planner_cases.py [--dtcc-plan build/bin/dtcc-plan] [--case 13]

Cases are those of the planner's issue whose model, machine and plan are public. A time is what the source measured, or
follows from the rate that it states (marked ~: tokens a second, or FLOP by the model's own count). Nothing is timed here:
forecasts alone. A table in Markdown goes to standard output.
"""
import argparse
import json
import subprocess

GPT = "vocabulary=51200,sequence=2048,tied=1"
MEGATRON = ["--software=MegatronLM"]
BRIDGE = ["--software=MegatronBridge"]  # sends a token once to each node of its experts


def gpt(layers, hidden, heads, extra=""):
    return f"layers={layers},hidden={hidden},heads={heads},{GPT}{extra}"


def megatron_seconds(layers, hidden, batch, petaflops, words=51200, sequence=2048):
    """Of a step from the rate of hardware FLOP that Narayanan 2021 counts, with full recomputation."""
    flops = 96 * batch * sequence * layers * hidden**2
    return flops * (1 + sequence / (6 * hidden) + words / (16 * layers * hidden)) / (petaflops * 1e15)


def llama_seconds(devices, teraflops, tokens=2048 * 8192, sequence=8192, parameters=405.9e9):
    """Of a step from the model's FLOP a second and device: 6 a parameter and token, and half of the attention's square."""
    return tokens * (6 * parameters + 6 * 126 * 16384 * sequence) / (devices * teraflops * 1e12)


def rate_seconds(batch, sequence, rate, devices):
    return batch * sequence / (rate * devices)


# number, model, cluster, batch, published: options of `cost`, seconds (None: not stated), derived, options of both
CASES = [
    ("6", "GPT 22B", gpt(48, 6144, 64), "8xa100", 4, ["--mesh=tp=8", "--micro-batch=4", "--recompute=selective"], 1.10, False,
     MEGATRON),
    ("7", "GPT 175B", gpt(96, 12288, 96), "8x8xa100", 64,
     ["--mesh=tp=8,pp=8", "--schedule=interleaved:3", "--recompute=selective"], 13.75, False, MEGATRON),
    ("8", "GPT 530B", gpt(105, 20480, 128), "35x8xa100", 280,
     ["--mesh=tp=8,pp=35", "--schedule=interleaved:3", "--recompute=selective"], 37.83, False, MEGATRON),
    ("9", "GPT 1T", gpt(128, 25600, 160), "64x8xa100", 512, ["--mesh=tp=8,pp=64", "--recompute=selective"], 71.49, False,
     MEGATRON),
    ("10", "GPT 1T", gpt(128, 25600, 160), "384x8xa100", 3072, ["--mesh=tp=8,pp=64", "--recompute=full", "--zero=0"],
     megatron_seconds(128, 25600, 3072, 502), True, MEGATRON),
    ("11", "GPT 175B", gpt(96, 12288, 96), "1536x8xa100", 6144, ["--mesh=tp=8,pp=8", "--schedule=interleaved:6"],
     6144 * 2048 * (6 * 175e9 + 6 * 96 * 12288 * 2048) / (12288 * 312e12 * 0.552), True, []),
    ("12", "Llama 3 405B", "llama3-405b", "1024x8xh100", 2048, ["--mesh=tp=8,pp=16", "--schedule=interleaved:8"],
     llama_seconds(8192, 430), True, []),
    ("13", "Llama 3 405B", "llama3-405b", "2048x8xh100", 2048, ["--mesh=tp=8,pp=16", "--schedule=interleaved:8"],
     llama_seconds(16384, 400), True, []),
    ("14", "Llama 3 405B, 131,072 positions",
     "layers=126,hidden=16384,heads=128,kv-heads=8,ffn=53248,vocabulary=128256,sequence=131072,gated=1", "2048x8xh100", 128,
     ["--mesh=tp=8,cp=16,pp=16", "--schedule=interleaved:8"], llama_seconds(16384, 380, sequence=131072), True, []),
    ("15", "Llama 3 70B, fp8", "llama3-70b", "8x8xh100", 256, ["--mesh=tp=4,pp=8", "--schedule=interleaved:5"],
     rate_seconds(256, 8192, 1664, 64), True, ["--precision=fp8"]),
    ("15", "Llama 3 70B, fp8", "llama3-70b", "64xgb200", 256, ["--mesh=dp=64", "--zero=3", "--micro-batch=2"],
     rate_seconds(256, 8192, 4224, 64), True, ["--precision=fp8"]),
    ("16", "Llama 3.1 405B, fp8", "llama3-405b", "128x8xh100", 1536, ["--mesh=tp=8,pp=8,cp=2", "--schedule=interleaved:8"],
     rate_seconds(1536, 8192, 328, 1024), True, ["--precision=fp8"]),
    ("16", "Llama 3.1 405B, fp8", "llama3-405b", "4x64xgb200", 1536, ["--mesh=tp=4,pp=16", "--schedule=interleaved:4"],
     rate_seconds(1536, 8192, 864, 256), True, ["--precision=fp8"]),
    ("17", "DeepSeek-V3, fp8", "deepseek-v3", "128x8xh100", 8192, ["--mesh=tp=2,pp=8,ep=64", "--schedule=interleaved:4"],
     rate_seconds(8192, 4096, 1297, 1024), True, ["--precision=fp8", *BRIDGE]),
    ("17", "DeepSeek-V3", "deepseek-v3", "4x64xgb200", 4096, ["--mesh=pp=4,ep=64", "--schedule=interleaved:4"],
     rate_seconds(4096, 4096, 3139, 256), True, BRIDGE),
    ("18", "Qwen3 235B, fp8", "qwen3-235b-a22b", "32x8xh100", 8192, ["--mesh=tp=2,pp=8,ep=32", "--schedule=interleaved:4"],
     rate_seconds(8192, 4096, 1712, 256), True, ["--precision=fp8", *BRIDGE]),
    ("19", "GPT-OSS 120B", "gpt-oss-120b", "8x8xh100", 1280, ["--mesh=pp=4,ep=8"], rate_seconds(1280, 4096, 5824, 64), True, BRIDGE),
    ("19", "GPT-OSS 120B", "gpt-oss-120b", "64xgb200", 1280, ["--mesh=ep=64", "--micro-batch=4"],
     rate_seconds(1280, 4096, 16640, 64), True, BRIDGE),
]


def call(plan, *arguments):
    done = subprocess.run([plan, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def mesh_of(options):
    text = next(each for each in options if each.startswith("--mesh=")).removeprefix("--mesh=")
    return {name: int(size) for name, size in (part.split("=") for part in text.split(","))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtcc-plan", default="build/bin/dtcc-plan")
    parser.add_argument("--case", help="one number of a case")
    given = parser.parse_args()
    print("| case | on | published plan | measured s | forecast | ours | forecast | published one stands |")
    print("|---|---|---|---:|---:|---|---:|---|")
    for number, name, model, cluster, batch, published, seconds, derived, options in CASES:
        if given.case not in (None, number):
            continue
        software = [] if any(each.startswith("--software") for each in options) else ["--software=nemo"]
        common = [f"--transformer={model}", f"--cluster={cluster}", f"--batch={batch}", *software, *options]
        theirs = call(given.dtcc_plan, "cost", *common, *published)["step_seconds"]["total"]
        plans = call(given.dtcc_plan, "search", *common, "--top=100")["plans"]
        mesh = mesh_of(published)
        same = [i for i, plan in enumerate(plans, 1)
                if all(plan["mesh"][axis] == mesh.get(axis, 1) for axis in ("tp", "cp", "pp", "ep"))]
        stands = f"{same[0]}, {plans[same[0] - 1]['seconds']:.2f} s" if same else "not among 100"
        plan = " ".join(each.removeprefix("--").removeprefix("mesh=") for each in published)
        off = 100 * (theirs / seconds - 1)
        print(f"| {number} {name} | {cluster} | {plan} | {'~' if derived else ''}{seconds:.2f} | {theirs:.2f} ({off:+.0f} %) | "
              f"{plans[0]['options']} | {plans[0]['seconds']:.2f} | {stands} |", flush=True)


if __name__ == "__main__":
    main()
