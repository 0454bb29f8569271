#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""What lies with the host is what the devices hold less, to the byte.

usage: offload.py WITH.jsonl WITHOUT.jsonl [--copies|--activations]
       offload.py --promise SEARCH.json PROGRAM.json

Metrics of a program that offloads and of one that does not. --copies: ZeRO 3 in halves, where the former keeps shares
that readers see, half as large as the masters that it does not keep there. --activations: what comes back takes
memory again, and is there some time before it is used.
"""
import json
import sys


def start(path):
    with open(path) as file:
        return json.loads(file.readline())


def promise(search, program):
    """What the search says of memory, of the device and of its host, is what the program has."""
    with open(search) as file:
        plan = json.load(file)["plans"][0]
    with open(program) as file:
        stages = json.load(file)["program"]["stages"]
    said = sum(plan["bytes"][part] for part in ("parameters", "gradients", "optimizer", "activations", "working"))
    most = max(stages, key=lambda stage: stage["bytes"])
    held, host = most["bytes"], most.get("host_bytes", 0)
    print(f"{held} bytes, {host} with the host")
    assert (held, host) == (said, plan["host_bytes"]), (said, plan["host_bytes"])


def main():
    if sys.argv[1] == "--promise":
        return promise(*sys.argv[2:])
    moved, kept = start(sys.argv[1]), start(sys.argv[2])
    assert "host_bytes" not in kept, kept
    for rank, host in moved["host_bytes"].items():
        less = kept["bytes"][rank] - moved["bytes"][rank]
        print(f"{rank}: {host} bytes with the host, {less} less on the device")
        if "--activations" in sys.argv:
            assert host > 0 and less > 0
        else:
            assert host > 0 and (less < host if "--copies" in sys.argv else less == host)


main()
