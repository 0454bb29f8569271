# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs exported modules beside what PyTorch did in double precision:

    kept.py DTCC FOLDER SCRATCH MESH [NAME...]

FOLDER is what tests/export/inputs/kept.py wrote. Losses, gradient norms and buffers must be equal to 1e-5. Prints a line
a module; exits with 1 if one differs. Further options of dtcc may follow in MESH, as in "dp=1 --target=cuda"."""
import json
import os
import pathlib
import subprocess
import sys

TOLERANCE = 1e-5
STEPS, ROWS = 5, 4


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["failed"]
        raise RuntimeError(next((line for line in lines if "error" in line), lines[0]))


def rows(path):
    return [r for r in map(json.loads, path.read_text().splitlines()) if "loss" in r]


def safetensors(path):
    import array
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    values = {}
    for name, row in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + o for o in row["data_offsets"])
            values[name] = list(array.array({"F32": "f", "I64": "q"}[row["dtype"]], data[begin:end]))
    return values


def distance(a, b, floor):
    return abs(a - b) / max(abs(a), floor)


def measure(dtcc, folder, name, scratch, mesh):
    scratch.mkdir(parents=True, exist_ok=True)
    run(dtcc, folder / f"{name}.onnx", f"--bind=batch={ROWS}", *f"--mesh={mesh}".split(),
        "--optimizer=adamw:lr=1e-2,weight_decay=0.1", "-o", scratch / "program")
    run(scratch / "program", f"--data={folder / 'data'}", f"--steps={STEPS}",
        f"--metrics={scratch / 'steps.jsonl'}", f"--save={scratch / 'after.safetensors'}")
    worst = 0.0
    wanted, got = rows(folder / f"{name}.jsonl"), rows(scratch / "steps.jsonl")
    assert len(wanted) == len(got) == STEPS, f"{len(got)} steps"
    for a, b in zip(wanted, got):
        worst = max(worst, distance(a["loss"], b["loss"], 1e-2), distance(a["grad_norm"], b["grad_norm"], 1e-2))
    saved = safetensors(scratch / "after.safetensors")
    for buffer, values in json.loads((folder / f"{name}.jsonl").read_text().splitlines()[-1])["buffers"].items():
        assert buffer in saved, f"buffer '{buffer}' is not saved"
        worst = max([worst] + [distance(a, b, 1e-1) for a, b in zip(values, saved[buffer])])
    return worst


def main():
    dtcc, folder, scratch, mesh, *names = sys.argv[1:]
    folder, scratch = pathlib.Path(folder), pathlib.Path(scratch)
    names = names or sorted(p.stem for p in folder.glob("*.onnx"))
    failed = not names
    for name in names:
        try:
            worst = measure(dtcc, folder, name, scratch / name, mesh)
            good, said = worst <= TOLERANCE, f"{worst:.1e}"
        except Exception as error:  # noqa: BLE001 - the other modules are told too
            good, said = False, str(error)
        failed |= not good
        print(f"{name}: {'equal' if good else 'WRONG'}: {said}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
