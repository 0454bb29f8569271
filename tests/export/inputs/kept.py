# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports the modules of tests/export/kept and trains them in double precision:

    kept.py FOLDER [NAME...]

FOLDER gets NAME.onnx and NAME.jsonl: the loss and gradient norm of each of 5 steps of AdamW, then what is left in
the buffers that changed; FOLDER/data the batches of all. A module whose description begins with REFUSED must be refused with
a message that holds what follows. Prints a line a module; exits with 1 if one is other than it should be.
"""
import importlib.util
import json
import logging
import os
import sys
import warnings

import numpy
import torch

import dtcc_export

STEPS, ROWS, RATE = 5, 4, 1e-2


def load(path):
    spec = importlib.util.spec_from_file_location("kept_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def batches():
    generator = torch.Generator().manual_seed(7)
    return torch.randn(STEPS * ROWS, 6, generator=generator), torch.randn(STEPS * ROWS, 3, generator=generator)


def train(module, path):
    """5 steps of AdamW, as the user's own loop would do them."""
    module.double()
    if all(m.training for m in module.modules()):
        module.train()
    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], lr=RATE, weight_decay=0.1)
    xs, targets = (t.double() for t in batches())
    before = {n: b.clone() for n, b in module.named_buffers()}
    with open(path, "w") as file:
        for step in range(STEPS):
            rows = slice(step * ROWS, (step + 1) * ROWS)
            optimizer.zero_grad()
            loss = module(xs[rows], targets[rows])
            loss.backward()
            norm = torch.sqrt(sum((p.grad ** 2).sum() for p in module.parameters() if p.grad is not None)).item()
            optimizer.step()
            file.write(json.dumps({"step": step + 1, "loss": loss.item(), "grad_norm": norm}) + "\n")
        left = {n: [float(f"{v:.9g}") for v in b.double().flatten().tolist()] for n, b in module.named_buffers()
                if not torch.equal(b, before[n])}
        file.write(json.dumps({"buffers": left}) + "\n")


def run(path, folder):
    """What is wrong with one module, or its outcome."""
    name = os.path.basename(path)[:-len(".py")]
    code = load(path)
    torch.manual_seed(0)
    module = code.Model()
    refused = code.__doc__.removeprefix("REFUSED: ") if code.__doc__.startswith("REFUSED: ") else None
    target = os.path.join(folder, name + ".onnx")
    x, y = (t[:ROWS] for t in batches())
    try:
        dtcc_export.export(module, {"x": x, "target": y}, target)
    except dtcc_export.ExportError as error:
        return "refused" if refused and refused in str(error) else f"WRONG: {error}"
    if refused:
        return "WRONG: was not refused"
    # Another one: what an export leaves behind in a module is not to be seen in both.
    torch.manual_seed(0)
    train(code.Model(), os.path.join(folder, name + ".jsonl"))
    return "exported"


def main():
    warnings.filterwarnings("ignore")
    logging.getLogger("torch").setLevel(logging.ERROR)
    folder, *names = sys.argv[1:]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kept")
    names = names or sorted(n[:-len(".py")] for n in os.listdir(here) if n.endswith(".py"))
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    for name, value in zip(("x", "target"), batches()):
        numpy.save(os.path.join(folder, "data", name + ".npy"), value.numpy())
    failed = False
    for name in names:
        try:
            outcome = run(os.path.join(here, name + ".py"), folder)
        except Exception as error:  # noqa: BLE001 - the other modules are told too
            outcome = f"WRONG: {type(error).__name__}: {error}"
        failed |= outcome.startswith("WRONG")
        print(f"{name}: {outcome}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
