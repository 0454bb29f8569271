# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many small architectures, exported, compiled and trained for four steps of AdamW, against PyTorch in double precision.

Prints a JSON line for each model and plan: the greatest relative differences of a loss and of a gradient norm, and beside
them PyTorch's own in single precision. Fails if one is above 1e-5 and four times PyTorch's own (batch norms of four cells
are that far off). A model that PyTorch's exporter cannot trace has the reason beside it in zoo/ ("untraceable"). A ReLU
nearer to zero than single precision can tell has two sides, both right (kinks.py): the row then has "kink". A plan is a mesh, or search=N for the plan that dtcc finds itself for N ranks, and further options of dtcc behind
it. Runs in a Python with the requirements of tools/export:

    build/export/bin/python tests/benchmarks/architectures/run.py                      # all, on one rank
    build/export/bin/python tests/benchmarks/architectures/run.py --plans search=4     # all, as dtcc itself would split them
    build/export/bin/python tests/benchmarks/architectures/run.py swin t5 --plans dp=2 tp=2 "dp=2,tp=2 --zero=1"
    build/export/bin/python tests/benchmarks/architectures/run.py --axes               # twenty under every axis (axes.py)
"""
import argparse
import copy
import functools
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
import onnx
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "..", "..", "tools", "export")]
import dtcc_export  # noqa: E402
from dtcc_export import forms  # noqa: E402
import axes  # noqa: E402
import kinks  # noqa: E402
import measure  # noqa: E402
import plans  # noqa: E402
import zoo  # noqa: E402
from golden import ranks_of, worst  # noqa: E402

STEPS, REACH = 4, 1e-5
# Name -> dtcc's option, and PyTorch's optimizer of parameters.
OPTIMIZERS = {
    "adamw": ("adamw:lr=1e-3,beta1=0.9,beta2=0.95,eps=1e-8,weight_decay=0.1",
              lambda of: torch.optim.AdamW(of, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)),
    "sgd": ("sgd:lr=0.1", lambda of: torch.optim.SGD(of, lr=0.1)),
}


def step_of(data, step):
    """The rows of one step."""
    return {name: value[step * (len(value) // STEPS):(step + 1) * (len(value) // STEPS)] for name, value in data.items()}


def loss_of(module, architecture, batch):
    if architecture.loss is None:
        result = module(**batch)
        return result if isinstance(result, torch.Tensor) else result.loss
    logits = module(*(value for name, value in batch.items() if name != "labels"))
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), batch["labels"].reshape(-1))


def draws_numbers(module, architecture, batch):
    """Whether the module's loss depends on random numbers, of which dtcc draws others."""
    losses = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        losses.append(loss_of(copy.deepcopy(module), architecture, batch).item())
    return losses[0] != losses[1]


def share_of_part(module, architecture, batch, parts):
    """What a micro-batch's loss counts for in that of the batch: 1 where losses are sums over samples, else as of a mean. In
    evaluation form samples do not meet, so a module whose loss is a sum gives the sum of its parts."""
    module = copy.deepcopy(module).eval()
    rows = [{n: v.tensor_split(parts)[part] for n, v in batch.items()} for part in range(parts)]
    with torch.no_grad():
        whole, total = loss_of(module, architecture, batch).item(), sum(loss_of(module, architecture, part).item() for part in rows)
    return 1 if abs(total - whole) < 1e-6 * abs(whole) else 1 / parts


def reference_run(module, architecture, data, dtype, microbatches=1, optimizer="adamw"):
    """PyTorch's losses and gradient norms. transformers computes norms and losses in f32, whatever the model: 1e-7 of a loss."""
    module = copy.deepcopy(module).to(dtype)
    trained = [p for p in module.parameters() if p.requires_grad]
    optimizer = OPTIMIZERS[optimizer][1](trained)
    losses, norms = [], []
    for step in range(STEPS):
        batch = {n: v.to(dtype) if v.is_floating_point() else v for n, v in step_of(data, step).items()}
        optimizer.zero_grad()
        loss, counts_for = 0.0, share_of_part(module, architecture, batch, microbatches) if microbatches > 1 else 1
        for part in range(microbatches):
            rows = {n: v.tensor_split(microbatches)[part] for n, v in batch.items()}
            share = loss_of(module, architecture, rows) * counts_for
            share.backward()
            loss += share.item()
        norms.append(torch.sqrt(sum(p.grad.double().square().sum() for p in trained if p.grad is not None)).item())
        optimizer.step()
        losses.append(loss)
    return losses, norms


def binding(path, batch):
    """The sizes in the batch of the dimensions that the export named; some modules take those of the example alone."""
    sizes = {dim.dim_param: size for value in onnx.load(path, load_external_data=False).graph.input
             for dim, size in zip(value.type.tensor_type.shape.dim, batch[value.name].shape) if dim.dim_param}
    return ["--bind=" + ",".join(f"{name}={size}" for name, size in sizes.items())] if sizes else []


def options_of(plan):
    """Options of dtcc for a mesh, or for the plan of the search; further ones may stand behind either."""
    mesh, *further = plan.split()
    return [f"--cluster=cpu:{ranks_of(mesh)}", *([] if mesh.startswith("search=") else [f"--mesh={mesh}"]), *further]


class Unprepared(Exception):
    """The module does not run (`stage` is "torch") or is not exported ("export")."""

    def __init__(self, stage, error):
        super().__init__(error)
        self.stage = stage


class Case:
    """An architecture exported to `folder`, beside what PyTorch makes of it."""

    def __init__(self, name, folder, optimizer="adamw"):
        architecture = zoo.ARCHITECTURES[name]
        torch.manual_seed(0)
        data = {n: torch.tensor(v) for n, v in architecture.inputs(numpy.random.default_rng(5), STEPS).items()}
        self.folder, self.model, self.inputs = folder, os.path.join(folder, "model.onnx"), os.path.join(folder, "data")
        os.makedirs(self.inputs)
        for field, cells in data.items():
            numpy.save(os.path.join(self.inputs, field + ".npy"), cells.numpy())
        try:
            module = architecture.make().train()

            def reference(dtype, microbatches):
                # The default form of experts knows no double precision.
                with forms.traced_experts(module):
                    return reference_run(module, architecture, data, dtype, microbatches, optimizer)

            self.reference = functools.cache(reference)
            self.exact = lambda microbatches: reference(torch.float64, microbatches)
            self.module = module
            # Statistics of micro-batches are another model's.
            self.has_batch_norms = any(isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for m in module.modules())
            with forms.traced_experts(module):
                if draws_numbers(module, architecture, step_of(data, 0)):
                    raise ValueError("the module draws random numbers, such as dropout")
            for dtype in (torch.float64, torch.float32):
                if not numpy.isfinite(self.reference(dtype, 1)).all():
                    raise ValueError("the module diverges")
        except Exception as error:  # noqa: BLE001 - a mistake of the zoo
            raise Unprepared("torch", repr(error)[-600:]) from error
        try:
            dtcc_export.export(module, step_of(data, 0), self.model, loss=architecture.loss,
                               dynamic=None if architecture.dynamic else {})
        except Exception as error:  # noqa: BLE001 - whatever PyTorch's exporter raises
            raise Unprepared("export", str(error)[-600:]) from error
        self.options = [*binding(self.model, step_of(data, 0)), "--optimizer=" + OPTIMIZERS[optimizer][0]]

    def compare(self, plan):
        """One row: how far the program of the plan is from PyTorch. Raises plans.Refused or measure.Failed."""
        began = time.monotonic()
        program = os.path.join(self.folder, "program")
        plans.compile_plan(self.model, program, [*self.options, *options_of(plan)])
        metrics, _ = measure.train(program, [f"--data={self.inputs}", f"--steps={STEPS}"], limit=300)
        found = [[r[field] for r in metrics["steps"]] for field in ("loss", "grad_norm")]
        parts = re.search(r"--microbatches=(\d+)", plan)
        microbatches = int(parts[1]) if parts and self.has_batch_norms else 1
        exact, single = (self.reference(dtype, microbatches) for dtype in (torch.float64, torch.float32))
        own = [worst(*pair) for pair in zip(single, exact)]
        far = [worst(*pair) for pair in zip(found, exact)]
        row = {"good": all(f <= max(REACH, 4 * o) for f, o in zip(far, own))}
        if not row["good"]:
            for other in kinks.other_sides(lambda: self.exact(microbatches)):
                if max(map(worst, found, other)) <= REACH:
                    row, far = {"good": True, "kink": True}, list(map(worst, found, other))
                    break
        keys = ("loss", "gradient_norm", "torch_loss", "torch_gradient_norm")
        return {**row, **{key: float(f"{value:.2g}") for key, value in zip(keys, [*far, *own])},
                "seconds": round(time.monotonic() - began, 1)}


def rows_of(name, chosen, optimizer):
    """A row for each plan, or one that says why there is none."""
    row = {"benchmark": "architectures", "model": name}
    with tempfile.TemporaryDirectory() as folder:
        try:
            case = Case(name, folder, optimizer)
        except Unprepared as error:
            known = zoo.ARCHITECTURES[name].untraceable if error.stage == "export" else ""
            yield {**row, "good": False, "status": "untraceable" if known else "failed", "stage": error.stage,
                   "reason": known or str(error)}
            return
        for plan in chosen:
            try:
                found = case.compare(plan)
                yield {**row, "plan": plan, **found, "status": "good" if found["good"] else "far"}
            except plans.Refused as refusal:
                yield {**row, "plan": plan, "good": False, "status": "refused", "reason": str(refusal)}
            except (measure.Failed, subprocess.TimeoutExpired, ValueError) as error:
                yield {**row, "plan": plan, "good": False, "status": "failed", "reason": str(error)[-600:]}


def emitted(rows):
    for row in rows:
        measure.emit(**row)
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names, or families (files of zoo/); default: all")
    parser.add_argument("--plans", nargs="+", default=["dp=1"])
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw",
                        help="AdamW enlarges a rounding of gradients near 0, SGD does not")
    parser.add_argument("--axes", action="store_true", help="the models of axes.py, or those named, under its plans; a table")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    if arguments.axes and not arguments.models:
        arguments.models = list(axes.MODELS)
    chosen = [n for n, a in zoo.ARCHITECTURES.items() if not arguments.models or {n, a.family} & set(arguments.models)]
    unknown = set(arguments.models) - set(chosen) - {zoo.ARCHITECTURES[n].family for n in chosen}
    if unknown:
        parser.error(f"no such architecture or family: {', '.join(sorted(unknown))}")
    rows = []
    for name in chosen:
        chosen_plans = axes.plans_of(name) if arguments.axes else arguments.plans
        rows.append(list(emitted(rows_of(name, chosen_plans, arguments.optimizer))))
    if arguments.axes:
        flat = [row for of_model in rows for row in of_model]
        axes.show(flat, sys.stdout)
        return 0 if all(row["status"] in ("good", "refused") for row in flat) else 1
    good = sum(all(row["good"] for row in of_model) for of_model in rows)
    untraceable = [of_model[0]["model"] for of_model in rows if of_model[0]["status"] == "untraceable"]
    measure.note(f"{good} of {len(rows)} train as PyTorch does" +
                 (f"; PyTorch cannot export {', '.join(untraceable)}" if untraceable else ""))
    return 0 if good + len(untraceable) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
