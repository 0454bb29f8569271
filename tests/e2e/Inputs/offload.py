#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""What lies with the host is what the devices hold less, to the byte.

usage: offload.py WITH.jsonl WITHOUT.jsonl [--copies]

Metrics of a program that offloads and of one that does not. --copies: ZeRO 3 in halves, where the former keeps shares
that readers see, half as large as the masters that it does not keep there.
"""
import json
import sys


def start(path):
    with open(path) as file:
        return json.loads(file.readline())


def main():
    moved, kept = start(sys.argv[1]), start(sys.argv[2])
    assert "host_bytes" not in kept, kept
    for rank, host in moved["host_bytes"].items():
        less = kept["bytes"][rank] - moved["bytes"][rank]
        print(f"{rank}: {host} bytes with the host, {less} less on the device")
        assert host > 0 and (less < host if "--copies" in sys.argv else less == host)


main()
