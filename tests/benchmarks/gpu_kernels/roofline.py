# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What share of a GPU's bandwidth the machine code of generated kernels lets them reach, at most.

    python3 tests/benchmarks/gpu_kernels/roofline.py MODEL [options of dtcc]

No GPU is needed, and nothing is measured: ptxas of CUDA's toolkit assembles what dtcc makes, nvdisasm (the package
nvidia-cuda-nvdisasm==13.5.37 of PyPI, one on the path, or DTCC_NVDISASM) prints it, and warps are walked through it.
A row is a kernel: how often a step runs it, bytes that it must move, grid and block, registers, blocks on a
multiprocessor, thread instructions a byte, bytes of loads that a multiprocessor has on their way at most,
microseconds on an H100 at least of memory, of instructions and of waiting, what limits it, and the share of the
bandwidth that is left on H100 and H200. Kernels that take less than two microseconds of memory's time are called
short: they wait for their loads, whatever their code. One that cannot be followed is listed as such.
"""
import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import measure  # noqa: E402
import sass  # noqa: E402
import warp  # noqa: E402

ARCHITECTURE = "sm_90"
FIRST_PARAMETER = 0x210  # of sm_90, in constant bank 0
SHORT = 2e-6


def program_of(name):
    """A program of NVIDIA's: by DTCC_NAME, on the path, or of an installed package of PyPI's."""
    found = os.environ.get(f"DTCC_{name.upper()}") or shutil.which(name)
    for folder in sys.path if not found else []:
        path = os.path.join(folder, "nvidia", "cu13", "bin", name)
        found = found or (path if os.path.exists(path) else None)
    if not found:
        raise SystemExit(f"no {name}: install it, put it on the path, or set DTCC_{name.upper()}")
    return found


def disassemble(ptx, folder):
    """Instructions, registers and bytes of shared memory, each by kernel."""
    cubin = os.path.join(folder, "kernels.cubin")
    done = subprocess.run([program_of("ptxas"), "-v", f"-arch={ARCHITECTURE}", ptx, "-o", cubin], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise SystemExit(f"ptxas: {done.stderr}")
    resources = {}
    entries = r"Compiling entry function '(\S+)'.*?\n(.*?)(?=ptxas info\s+: Compiling|\Z)"
    for name, text in re.findall(entries, done.stderr, re.S):
        shared = re.search(r"(\d+) bytes smem", text)
        resources[name] = int(re.search(r"Used (\d+) registers", text)[1]), int(shared[1]) if shared else 0
    text = subprocess.run([program_of("nvdisasm"), "-json", cubin], capture_output=True, text=True, check=True).stdout
    return sass.functions(text), resources


def number(text):
    return struct.unpack(">d", bytes.fromhex(text[2:]))[0] if text.startswith("0x") else float(text)


def bytes_of(buffer):
    """Of a memref type, as its cells are counted."""
    shape = re.match(r"memref<((?:\d+x)*)([a-z]+)(\d+)", buffer)
    cells = 1
    for size in shape[1].split("x")[:-1]:
        cells *= int(size)
    return cells * max(1, int(shape[3]) // 8)


def parameters(buffers):
    """Constants of a launch without a predicate, whose rank's record is unknown, and sizes of buffers by number."""
    constants, sizes = {0x0: 0, FIRST_PARAMETER + 8: 0, FIRST_PARAMETER + 12: 0}, {}
    for n, size in enumerate(buffers):
        constants[FIRST_PARAMETER + 16 + 8 * n] = 0
        constants[FIRST_PARAMETER + 20 + 8 * n] = n + 1 << 8
        sizes[n + 1] = size
    return constants, sizes


def generated(model, options, folder):
    """(name, runs a step, bytes, registers, shared memory, instructions, launch) of a model's kernels."""
    text, ptx = os.path.join(folder, "kernels.mlir"), os.path.join(folder, "kernels.ptx")
    measure.run([measure.tool("dtcc"), model, *options, "--emit=exec", "-o", text])
    measure.run([measure.tool("dtcc"), model, *options, "--emit=ptx", f"--gpu-arch={ARCHITECTURE}", "-o", ptx])
    with open(text) as stream:
        level = stream.read()
    _, _, functions = measure.run([measure.tool("dtcc-opt"), "--exec-generate-gpu-kernels", text])
    codes, resources = disassemble(ptx, folder)
    for name, values in re.findall(r"llvm\.func @(\w+)\(.*?attributes \{(.*?)\}", functions):
        value = {key: number(found) for key, found in re.findall(r"dtcc\.(\w+) = (\S+) :", values)}
        buffers = re.search(rf"exec\.func @{name} buffers \[(.*?)\] accumulate", level)[1]
        sizes = [bytes_of(buffer) for buffer in re.findall(r"memref<[^>]*>", buffers)]
        constants, by_number = parameters(sizes)
        constants[0] = int(value["block"])
        launch = warp.Launch(constants, int(value["grid"]), int(value["block"]), sizes=by_number)
        runs = len(re.findall(rf"exec\.kernel @{name} ", level))
        yield name, runs, value["bytes"], *resources[name], codes[name], launch


def row(name, runs, moved, registers, shared, code, launch):
    """A line of the table as values."""
    found = {"kernel": name, "runs": runs, "bytes": int(moved), "grid": launch.grid, "block": launch.block,
             "registers": registers, "shared": shared}
    try:
        bounds = {each.name: machine.bound(each, code, launch, moved, registers, shared)
                  for each in (machine.H100, machine.H200)}
    except warp.Unclear as unclear:
        return {**found, "unclear": str(unclear)}
    first = bounds["h100"]
    instructions = sum(first.counts.values()) * min(32, launch.block) * launch.grid
    return {**found, "resident": first.blocks, "instructions_a_byte": round(instructions / moved, 3),
            "flight": first.flight, "moved": first.moved, "limit": first.limit,
            **{f"us_{part}": round(1e6 * getattr(first, part), 2) for part in ("memory", "instructions", "waits")},
            **{name: round(each.share, 3) for name, each in bounds.items()},
            "short": first.memory < SHORT}


HEAD = "kernel|runs|MB|grid x block|regs|blocks|instr/B|KB in flight|us memory|instr.|waits|limit|H100|H200"


def line(found):
    begin = [found["kernel"], found["runs"], f"{found['bytes'] / 1e6:.1f}", f"{found['grid']} x {found['block']}",
             found["registers"]]
    if "unclear" in found:
        return begin + ["not analysed: " + found["unclear"]]
    flag = "" if found["short"] or min(found["h100"], found["h200"]) >= 0.9 else " !"
    return begin + [found["resident"], f"{found['instructions_a_byte']:.2f}", f"{found['flight'] / 1e3:.0f}",
                    f"{found['us_memory']:.1f}", f"{found['us_instructions']:.1f}", f"{found['us_waits']:.1f}",
                    found["limit"] if min(found["h100"], found["h200"]) < 1 else "memory",
                    "short" if found["short"] else f"{found['h100']:.2f}",
                    "short" if found["short"] else f"{found['h200']:.2f}{flag}"]


def show(rows):
    texts = [HEAD.split("|")] + [[str(cell) for cell in line(found)] for found in rows]
    widths = [max(len(text[n]) for text in texts if n < len(text) and (len(text) > 6 or n < 5))
              for n in range(len(texts[0]))]
    for text in texts:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(text, widths)) + " |")
        if text is texts[0]:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--json", action="store_true", help="a line of JSON a kernel")
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(*each) for each in generated(arguments.model, options, folder)]
    if arguments.json:
        for found in rows:
            measure.emit(**found)
    else:
        show(rows)


if __name__ == "__main__":
    sys.exit(main())
