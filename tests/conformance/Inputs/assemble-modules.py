#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Assembles the runtime's own GPU kernels by NVIDIA's assembler:

    assemble-modules.py FOLDER ARCHITECTURE...

FOLDER holds KernelModules.def and the PTX that it lists. Prints a line a module and architecture: kernels, and bytes
of registers that went to memory.
"""
import pathlib
import re
import subprocess
import sys


def main():
    folder, *architectures = sys.argv[1:]
    modules = re.findall(r"DTCC_KERNEL_MODULE\((\w+)\)", (pathlib.Path(folder) / "KernelModules.def").read_text())
    total = spills = 0
    for module in modules:
        path = pathlib.Path(folder) / f"{module}.ptx"
        if re.search(r"\.extern \.func|__nv_", path.read_text()):
            sys.exit(f"{module}: calls a function of a library")
        for architecture in architectures:
            done = subprocess.run(["ptxas", "-v", f"-arch={architecture}", path, "-o", "/dev/null"],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{module} {architecture}: {done.stderr}")
            kernels = len(re.findall("Compiling entry function", done.stderr))
            spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill stores", done.stderr))
            print(f"{module} {architecture}: {kernels} kernels, {spilled} bytes spilled", flush=True)
            total, spills = total + kernels, spills + spilled
    print(f"all: {len(modules)} modules, {total} kernels, {spills} bytes spilled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
