# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some hundred architectures, exported, compiled and trained for four steps of AdamW, against PyTorch in double precision.

Prints a JSON line for each model and plan: the greatest relative difference of a loss, and beside it PyTorch's own in
single precision. Fails if one is above 1e-5 and four times PyTorch's own (batch norms of four cells are that far off). Runs
in a Python with the requirements of tools/export:

    build/export/bin/python tests/benchmarks/architectures/run.py                # all, on one rank
    build/export/bin/python tests/benchmarks/architectures/run.py swin t5 --plans dp=2 tp=2 dp=2,tp=2
"""
import argparse
import copy
import logging
import os
import sys
import tempfile
import warnings

import numpy
import onnx
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "..", "..", "tools", "export")]
import dtcc_export  # noqa: E402
from dtcc_export import forms  # noqa: E402
import measure  # noqa: E402
import zoo  # noqa: E402
from golden import ranks_of, worst  # noqa: E402

STEPS, BATCH, LENGTH, REACH = 4, 4, 16, 1e-5
OPTIMIZER = "--optimizer=adamw:lr=1e-3,beta1=0.9,beta2=0.95,eps=1e-8,weight_decay=0.1"


def batches(kind):
    """All steps' inputs by name, one after the other."""
    random = numpy.random.default_rng(5)
    rows = BATCH * STEPS
    if kind == "image":
        images = random.standard_normal((rows, 3, 32, 32)).astype(numpy.float32)
        return {"x": torch.tensor(images), "labels": torch.tensor(random.integers(0, 10, rows))}
    ids = torch.tensor(random.integers(4, zoo.WORDS, (rows, LENGTH)))
    if kind == "pair":
        return {"input_ids": ids, "x": torch.tensor(random.standard_normal((rows, 3, 32, 32)).astype(numpy.float32))}
    if kind == "speech":
        return {"sound": torch.tensor(random.standard_normal((rows, 8, 32)).astype(numpy.float32)), "labels": ids}
    labels = {"causal": ids.clone(), "tokens": (ids * 7 + 3) % zoo.WORDS,
              "seq2seq": torch.tensor(random.integers(4, zoo.WORDS, (rows, LENGTH)))}
    return {"input_ids": ids, "labels": labels[kind]}


def loss_of(module, kind, batch):
    if kind in ("causal", "seq2seq"):
        return module(**batch).loss
    if kind in ("pair", "speech"):
        return module(**batch)
    logits = module(batch["x" if kind == "image" else "input_ids"])
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), batch["labels"].reshape(-1))


def losses_of(module, kind, data, dtype):
    """PyTorch's losses. transformers computes norms and losses in f32, whatever the model: 1e-7 of a loss."""
    module = copy.deepcopy(module).to(dtype)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    losses = []
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        batch = {n: v[rows].to(dtype) if v.is_floating_point() else v[rows] for n, v in data.items()}
        optimizer.zero_grad()
        loss = loss_of(module, kind, batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def binding(path):
    """Sizes for the dimensions that the export named; some modules take those of the example alone."""
    inputs = onnx.load(path, load_external_data=False).graph.input
    named = {dim.dim_param for value in inputs for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    sizes = [f"{name}={size}" for name, size in (("batch", BATCH), ("seq", LENGTH)) if name in named]
    return ["--bind=" + ",".join(sizes)] if sizes else []


def one(name, plans):
    """Whether the model trains as PyTorch does under every plan."""
    make, kind = zoo.MODELS[name]
    torch.manual_seed(0)
    module, data = make().train(), batches(kind)
    with tempfile.TemporaryDirectory() as folder:
        model, inputs = os.path.join(folder, "model.onnx"), os.path.join(folder, "data")
        os.makedirs(inputs)
        for field, cells in data.items():
            numpy.save(os.path.join(inputs, field + ".npy"), cells.numpy())
        try:
            dtcc_export.export(module, {n: v[:BATCH] for n, v in data.items()}, model,
                               loss="cross_entropy" if kind in ("image", "tokens") else None)
            # The default form of experts knows no double precision.
            with forms.traced_experts(module):
                reference = losses_of(module, kind, data, torch.float64)
                own = worst(losses_of(module, kind, data, torch.float32), reference)
        except Exception as error:  # noqa: BLE001 - whatever PyTorch's exporter raises
            measure.emit(benchmark="architectures", model=name, good=False, error=str(error)[-300:])
            return False
        bind = binding(model)
        good = True
        for plan in plans:
            row = {"benchmark": "architectures", "model": name, "plan": plan}
            try:
                program = os.path.join(folder, "program")
                measure.compile_model(model, program, [*bind, f"--cluster=cpu:{ranks_of(plan)}", f"--mesh={plan}", OPTIMIZER])
                metrics, _ = measure.train(program, [f"--data={inputs}", f"--steps={STEPS}"], limit=300)
                loss = worst([r["loss"] for r in metrics["steps"]], reference)
                near = loss <= max(REACH, 4 * own)
                good &= near
                measure.emit(**row, good=near, loss=float(f"{loss:.2g}"), torch_loss=float(f"{own:.2g}"))
            except measure.Failed as error:
                good = False
                measure.emit(**row, good=False, error=str(error)[-300:])
        return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(zoo.MODELS), help="of zoo.py; default: all")
    parser.add_argument("--plans", nargs="+", default=["dp=1"])
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    results = [one(name, arguments.plans) for name in arguments.models]
    measure.note(f"{sum(results)} of {len(results)} train as PyTorch does")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
