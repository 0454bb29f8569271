# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structures of the models that people train, in their full sizes: what importing one and searching its plan takes.

    build/export/bin/python tests/benchmarks/structures.py          # the files of ../shared/models/structure
    build/export/bin/python tests/benchmarks/structures.py --make FOLDER qwen2.5-7b t5-3b     # writes FOLDER/NAME.onnx
    build/export/bin/python tests/benchmarks/structures.py --folder FOLDER

--make builds a model of transformers or torchvision without memory for its parameters (PyTorch's meta device) and exports
it by tools/export; without names, all of structure_models.py. Each line has the processor seconds and the peak of resident
memory of `dtcc-plan search`, which reads the file and finds plans for the cluster of CLUSTERS; reach: 3 s and 500 MB.
"""
import argparse
import json
import os
import sys
import tempfile

import measure

CLUSTERS = ((200e9, "2048x8xh100"), (20e9, "64x8xh100"), (0, "8x8xh100"))  # from so many parameters on
BIND = {"batch": 4096, "seq": 2048}
SHORT = {"bert-large": 512, "gpt2-124m": 1024, "gpt2-medium": 1024, "gpt2-large": 1024,
         "gpt2-1.5b": 1024}  # learned positions of fewer tokens


def parameters_and_symbols(path):
    """Cells of float initializers, and the names of dimensions of inputs."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    cells = 0
    for tensor in graph.initializer:
        if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.BFLOAT16):
            size = 1
            for dim in tensor.dims:
                size *= dim
            cells += size
    given = {tensor.name for tensor in graph.initializer}
    symbols = {dim.dim_param for value in graph.input if value.name not in given
               for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    return cells, symbols


def search(name, path, limit):
    cells, symbols = parameters_and_symbols(path)
    cluster = next(cluster for least, cluster in CLUSTERS if cells >= least)
    bind = {s: SHORT.get(name, BIND[s]) if s == "seq" else BIND.get(s, 64) for s in sorted(symbols)}
    with tempfile.NamedTemporaryFile("r") as out:
        # GNU time tells processor seconds of the child alone.
        command = ["/usr/bin/time", "-f", "%U %S %M", "-o", out.name, measure.tool("dtcc-plan"), "search", path,
                   f"--cluster={cluster}", "--top=1", *(["--bind=" + ",".join(f"{s}={n}" for s, n in bind.items())] if bind else [])]
        row = {"structure": name, "parameters": cells, "cluster": cluster, "bind": bind}
        try:
            wall, _, text = measure.run(command, limit)
        except measure.Failed as error:
            return {**row, "error": str(error).strip().splitlines()[-1][:300]}
        user, system, peak = out.read().split()[-3:]
    return {**row, "processor_seconds": round(float(user) + float(system), 2), "seconds": round(wall, 2),
            "peak_mb": round(int(peak) * 1024 / 1e6),
            "reached": float(user) + float(system) <= 3 and int(peak) * 1024 <= 500e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", default=os.path.join(measure.SHARED, "models", "structure"))
    parser.add_argument("--make", metavar="FOLDER", help="write the structures instead")
    parser.add_argument("--limit", type=int, default=300, help="seconds that a search may take")
    given = parser.parse_args()
    if given.make:
        import structure_models
        return structure_models.make(given.names, given.make)
    names = given.names or sorted(f.removesuffix(".onnx") for f in os.listdir(given.folder) if f.endswith(".onnx"))
    failed = 0
    for name in names:
        row = search(name, os.path.join(given.folder, name + ".onnx"), given.limit)
        failed += "error" in row
        print(json.dumps(row), flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
