#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Assembles the GPU kernels of the shared models by NVIDIA's assembler:

    assemble.py MODELS ARCHITECTURE...

Prints a line a model, architecture and precision: kernels, and bytes of registers that went to memory.
"""
import re
import subprocess
import sys
import tempfile

MODELS = ("mlp", "gpt2", "llama", "bert", "vit", "resnet", "mixtral")
BINDS = {"mlp": "batch=8", "vit": "batch=8", "resnet": "batch=8"}


def main():
    folder, *architectures = sys.argv[1:]
    for model in MODELS:
        for architecture in architectures:
            for precision in ("f32", "bf16"):
                with tempfile.NamedTemporaryFile(suffix=".ptx") as text:
                    bind = BINDS.get(model, "batch=8,seq=32")
                    subprocess.run(["dtcc", f"{folder}/{model}/loss.onnx", f"--bind={bind}", "--emit=ptx", "-o", text.name,
                                    f"--gpu-arch={architecture}", f"--precision={precision}"], check=True)
                    done = subprocess.run(["ptxas", "-v", f"-arch={architecture}", text.name, "-o", "/dev/null"],
                                          capture_output=True, text=True, check=False)
                    if done.returncode:
                        sys.exit(f"{model} {architecture} {precision}: {done.stderr}")
                    kernels = len(re.findall("Compiling entry function", done.stderr))
                    spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill stores", done.stderr))
                    print(f"{model} {architecture} {precision}: {kernels} kernels, {spilled} bytes spilled", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
