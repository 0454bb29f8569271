#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a shared library has the functions that a .def file of runtime/cuda lists:

    library-symbols.py Driver.def libcuda.so

Prints those that it has not, then `N symbols, N missing`.
"""
import re
import subprocess
import sys


def main():
    definitions, library = sys.argv[1:]
    with open(definitions) as stream:
        text = re.sub(r"//.*|#.*", "", stream.read())
    wanted = re.findall(r"DTCC_\w+_FUNCTION\(\s*\w+,\s*(\w+)", text)
    listed = subprocess.run(["llvm-nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    there = {line.split()[-1].split("@")[0] for line in listed.splitlines() if line.strip()}
    missing = [name for name in wanted if name not in there]
    for name in missing:
        print(f"missing: {name}")
    print(f"{len(wanted)} symbols, {len(missing)} missing")


if __name__ == "__main__":
    main()
