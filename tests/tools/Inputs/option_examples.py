# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every option that a table names is known to its tool, with its example: option_examples.py PROGRAM.

The program must hold averages of weights (--ema).

dtcc gets a model that does not exist, so that it ends behind its command line, with status 1 and not 2. The program is only asked
for its --info.
"""
import subprocess
import sys

# Options that mean nothing without another.
WITH = {"loss-scale": ["--precision=fp16"], "rank": ["--ranks=4", "--rendezvous=a:1"], "ranks": ["--rank=0", "--rendezvous=a:1"],
        "eval-fraction": ["--tokens=a.npy"], "eval-every": ["--eval-tokens=a.npy"], "eval-steps": ["--eval-tokens=a.npy"],
        "eval-only": ["--eval-tokens=a.npy"], "save-best": ["--eval-tokens=a.npy"], "keep": ["--checkpoint=c"],
        "keep-every": ["--checkpoint=c", "--keep=2"], "checkpoint-every": ["--checkpoint=c"],
        "checkpoint-local": ["--checkpoint=c"], "resume": ["--checkpoint=c"],
        "generate": ["--prompt-tokens=1"], "prompt-tokens": ["--generate=1"],
        "temperature": ["--generate=1", "--prompt-tokens=1"], "stop-token": ["--generate=1", "--prompt-tokens=1"],
        "top-k": ["--generate=1", "--prompt-tokens=1", "--temperature=1"], "resume-anyway": ["--checkpoint=c"],
        "save-type": ["--save=a"], "save-trained": ["--save=a"], "save-merged": ["--save=a"],
        "documents": ["--eos=1"], "lr-restart": ["--warmup=5"], "min-lr": ["--lr-schedule=cosine"],
        "decay-steps": ["--lr-schedule=cosine"],
        "eval-average": ["--eval-tokens=a.npy"], "shard-size": ["--save=a/"],
        "grad-norms": ["--metrics=m"]}
# Read before anything else, or not of programs for processors or without experts.
NOT = {"help", "version", "config", "cuda-graph", "attention", "profile", "profile-steps", "on-moe-overflow"}


def rows(*command):
    lines = subprocess.run([*command, "--help-table"], capture_output=True, text=True, check=True).stdout.splitlines()
    fields = [line.split("\t") for line in lines]
    assert fields and all(len(row) == 7 for row in fields), fields
    return [(group, name, value, example, help) for group, name, value, initial, example, repeats, help in fields]


def ended(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stderr


def written(name, value, example):
    assert bool(value) == bool(example), f"{name} must have an example, and a flag none"
    return [("-" if len(name) == 1 else "--") + name] + ([example] if example else [])


count = 0
for group, name, value, example, _ in rows("dtcc"):
    if name not in NOT and example != "onnx":
        status, errors = ended("dtcc", "none.mlir", *written(name, value, example), *WITH.get(name, []))
        assert status == 1, (name, status, errors)
        count += 1
for command, name, value, example, about in rows("dtcc-plan"):
    model = "--transformer=llama3-8b" if "with --transformer" in about else "none.json"
    errors = ended("dtcc-plan", command, model, *written(name, value, example))[1]
    assert "unknown option" not in errors and "must have a value" not in errors and "takes no value" not in errors, \
        (command, name, errors)
    count += 1
for group, name, value, example, _ in rows(sys.argv[1]):
    if name not in NOT:
        status, errors = ended(sys.argv[1], "--info", *written(name, value, example), *WITH.get(name, []))
        assert status == 0, (name, status, errors)
        count += 1
assert count > 120, count
print("examples are known")
