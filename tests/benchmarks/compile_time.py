# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds from ONNX to executable for GPT-2 124M on 2 to 1,024 ranks: they should not grow with the ranks.

A program is made for a rank, or for each stage of a pipeline, so families of meshes are compared whose ranks alone
differ, with the same batch for each data-parallel rank, ZeRO stage and recomputation (searched, they depend on the
memory of this machine for a rank). All compile in turns; the medians of processor seconds are compared, which other
work on the machine disturbs less than wall time does. Prints one JSON line a mesh and one a family, with the greatest
as a multiple of the least.

    python3 tests/benchmarks/compile_time.py --rounds 3
"""
import argparse
import os
import resource
import statistics
import tempfile

import measure

MODEL = os.path.join(measure.SHARED, "models", "structure", "gpt2-124m.onnx")
FAMILIES = {
    "data parallel": ["dp=2", "dp=64", "dp=1024"],
    "with tensors": ["dp=2,tp=2", "dp=16,tp=4", "dp=256,tp=4"],
    "with a pipeline": ["dp=2,tp=2,pp=4", "dp=8,tp=2,pp=4", "dp=128,tp=2,pp=4"],
}


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16, help="of a data-parallel rank")
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--options", default="--zero=1 --recompute=none", help="of dtcc, besides the mesh")
    arguments = parser.parse_args()
    load = measure.busy()
    processor, wall, peaks = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            for mesh in (mesh for meshes in FAMILIES.values() for mesh in meshes):
                before = processor_seconds()
                replicas = int(mesh.split(",")[0].removeprefix("dp="))
                options = ["--init=random", f"--bind=batch={arguments.batch * replicas},seq={arguments.seq}",
                           f"--mesh={mesh}"]
                seconds, peaks[mesh] = measure.compile_model(MODEL, os.path.join(folder, "program"),
                                                             options + arguments.options.split())
                processor.setdefault(mesh, []).append(processor_seconds() - before)
                wall.setdefault(mesh, []).append(seconds)
    for family, meshes in FAMILIES.items():
        medians = [statistics.median(processor[mesh]) for mesh in meshes]
        for mesh, median in zip(meshes, medians):
            measure.emit(benchmark="compile_time", mesh=mesh, processor_seconds=round(median, 2),
                         wall_seconds=round(statistics.median(wall[mesh]), 2), peak_mib=round(peaks[mesh]))
        measure.emit(benchmark="compile_time", family=family, greatest_to_least=round(max(medians) / min(medians), 2),
                     load_before=load)


if __name__ == "__main__":
    main()
