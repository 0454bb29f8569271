# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One step of SGD by dtcc: the gradients that a file trains with."""
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import onnx

from .losses import ExportError

# The step is p - RATE * g. So large a rate leaves of p next to nothing in the difference: no digit of g is lost.
RATE = 1 << 20


def find_dtcc():
    """The compiler: $DTCC, on the path, or in the build folder beside this script; None if there is none."""
    beside = pathlib.Path(__file__).resolve().parents[3] / "build" / "bin" / "dtcc"
    return os.environ.get("DTCC") or shutil.which("dtcc") or (str(beside) if beside.exists() else None)


def without_dropout(model):
    """The same graph without randomness: what two frameworks can agree on."""
    off = "dtcc.off"  # one of its own: the exporter's constants may serve other nodes too
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(False), off))
    for node in model.graph.node:
        if node.op_type == "Dropout" and len(node.input) > 2:
            node.input[2] = off
    return model


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    types = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I64": np.int64}
    values = {}
    for name, row in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + o for o in row["data_offsets"])
            values[name] = np.frombuffer(data[begin:end], types[row["dtype"]]).reshape(row["shape"])
    return values


def command(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["failed"]
        raise ExportError(f"dtcc does not run the file: {lines[0]}")


def gradients_by_dtcc(model, inputs, folder, dtcc):
    """(loss, {initializer or buffer: gradient or, of buffers, the value after the step}) of one step on the inputs."""
    folder = pathlib.Path(folder)
    onnx.save(without_dropout(model), folder / "model.onnx")
    (folder / "data").mkdir()
    sizes = {}
    for value in model.graph.input:
        array = inputs[value.name].detach().numpy()
        np.save(folder / "data" / f"{value.name}.npy", array)
        for dim, size in zip(value.type.tensor_type.shape.dim, array.shape):
            if dim.dim_param:
                sizes[dim.dim_param] = size
    bind = [f"--bind={','.join(f'{name}={size}' for name, size in sizes.items())}"] if sizes else []
    command(dtcc, folder / "model.onnx", *bind, "--train-mode=as-is", "--mesh=dp=1", f"--optimizer=sgd:lr={RATE}",
            "-o", folder / "program")
    command(folder / "program", f"--data={folder / 'data'}", "--steps=1", f"--metrics={folder / 'steps.jsonl'}",
            f"--save={folder / 'after.safetensors'}")
    rows = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    return next(r["loss"] for r in rows if r.get("step") == 1), read_safetensors(folder / "after.safetensors")
