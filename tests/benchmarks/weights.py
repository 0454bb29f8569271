# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are larger than the machine: what compiling and starting them from a folder of weights takes.

Makes the folder of a structure in ../shared/models/structure: shards of the right sizes that are holes in the file system,
and so take no space. Compiles with --weights; with --start also runs the program for a step, and sets its peak of resident
memory beside what its plan says.

    python3 tests/benchmarks/weights.py llama3-70b --bind batch=64,seq=4096 -- --cluster=8x8xh100 --mesh=dp=8,tp=8 --zero=3
    python3 tests/benchmarks/weights.py gpt2-124m --bind batch=1,seq=64 --type F32 --start -- --mesh=dp=1 --optimizer=sgd

Needs the `onnx` package for the names and shapes.
"""
import argparse
import json
import os
import re
import struct
import sys
import tempfile

import onnx

import measure

SHARD = 5_000_000_000
WIDTHS = {"BF16": 2, "F32": 4}


def shards_of(model, dtype):
    """The parameters as Hugging Face would shard them: names without the wrapper's prefix."""
    shards, size = [{}], 0
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT or not tensor.dims or tensor.name.endswith("inv_freq"):
            continue
        bytes_ = WIDTHS[dtype]
        for dim in tensor.dims:
            bytes_ *= dim
        if shards[-1] and size + bytes_ > SHARD:
            shards.append({})
            size = 0
        shards[-1][tensor.name.removeprefix("model.")] = {"dtype": dtype, "shape": list(tensor.dims),
                                                         "data_offsets": [size, size + bytes_]}
        size += bytes_
    return shards


def write(folder, shards):
    index, total = {}, 0
    for i, shard in enumerate(shards):
        name = f"model-{i + 1:05}-of-{len(shards):05}.safetensors"
        header = json.dumps(shard).encode()
        end = max(row["data_offsets"][1] for row in shard.values())
        with open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + end)
        index |= {tensor: name for tensor in shard}
        total += end
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": index}, file)
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--bind", required=True)
    parser.add_argument("--type", choices=WIDTHS, default="BF16")
    parser.add_argument("--start", action="store_true")
    # Arguments after "--" are passed to dtcc.
    own, _, rest = " ".join(sys.argv[1:]).partition(" -- ")
    asked = parser.parse_args(own.split())
    path = os.path.join(measure.SHARED, "models", "structure", asked.model + ".onnx")
    shards = shards_of(onnx.load(path, load_external_data=False), asked.type)
    with tempfile.TemporaryDirectory() as folder:
        total = write(folder, shards)
        program = os.path.join(folder, "program")
        seconds, peak = measure.compile_model(path, program, ["--bind=" + asked.bind, "--weights=" + folder, *rest.split()])
        print(f"{asked.model}: {total / 1e9:.1f} GB of {asked.type} in {len(shards)} shards; compiled in {seconds:.1f} s, "
              f"peak {peak:.0f} MiB; the program has {os.path.getsize(program) / 1e6:.0f} MB")
        if not asked.start:
            return
        tokens = os.path.join(folder, "tokens")
        with open(tokens, "wb") as file:
            file.write(bytes(1 << 20))
        seconds, peak, _ = measure.run([program, f"--tokens={tokens}:u16", "--steps=1"])
        planned = measure.run([program, "--info"])[2]
        arena = re.search(r"memory[^\n]*", planned)
        print(f"started and made a step in {seconds:.1f} s, peak {peak:.0f} MiB; the plan: "
              f"{arena.group(0) if arena else planned}")


if __name__ == "__main__":
    main()
