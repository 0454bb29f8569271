# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many small architectures, exported, compiled and trained for four steps of AdamW, against PyTorch in double precision.

Prints a JSON line for each model and plan: the greatest relative differences of a loss and of a gradient norm, and beside
them PyTorch's own in single precision. Fails if one is above 1e-5 and four times PyTorch's own (batch norms of four cells
are that far off). A ReLU nearer to zero than single precision can tell has two sides, both right (kinks.py): the row then
has "kink". A plan is a mesh, or search=N for the plan that dtcc finds itself for N ranks. Runs in a Python with the
requirements of tools/export:

    build/export/bin/python tests/benchmarks/architectures/run.py                      # all, on one rank
    build/export/bin/python tests/benchmarks/architectures/run.py --plans search=4     # all, as dtcc itself would split them
    build/export/bin/python tests/benchmarks/architectures/run.py swin t5 --plans dp=2 tp=2 dp=2,tp=2
"""
import argparse
import copy
import logging
import os
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
import kinks  # noqa: E402
import measure  # noqa: E402
import zoo  # noqa: E402
from golden import ranks_of, worst  # noqa: E402

STEPS, REACH = 4, 1e-5
OPTIMIZER = "--optimizer=adamw:lr=1e-3,beta1=0.9,beta2=0.95,eps=1e-8,weight_decay=0.1"


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


def reference_run(module, architecture, data, dtype):
    """PyTorch's losses and gradient norms. transformers computes norms and losses in f32, whatever the model: 1e-7 of a loss."""
    module = copy.deepcopy(module).to(dtype)
    trained = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    losses, norms = [], []
    for step in range(STEPS):
        batch = {n: v.to(dtype) if v.is_floating_point() else v for n, v in step_of(data, step).items()}
        optimizer.zero_grad()
        loss = loss_of(module, architecture, batch)
        loss.backward()
        norms.append(torch.sqrt(sum(p.grad.double().square().sum() for p in trained if p.grad is not None)).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


def binding(path, batch):
    """The sizes in the batch of the dimensions that the export named; some modules take those of the example alone."""
    sizes = {dim.dim_param: size for value in onnx.load(path, load_external_data=False).graph.input
             for dim, size in zip(value.type.tensor_type.shape.dim, batch[value.name].shape) if dim.dim_param}
    return ["--bind=" + ",".join(f"{name}={size}" for name, size in sizes.items())] if sizes else []


def options_of(plan):
    """Options of dtcc for a mesh, or for the plan of the search."""
    return [f"--cluster=cpu:{ranks_of(plan)}"] + ([] if plan.startswith("search=") else [f"--mesh={plan}"])


def one(name, plans):
    """Whether the model trains as PyTorch does under every plan."""
    architecture = zoo.ARCHITECTURES[name]
    torch.manual_seed(0)
    data = {n: torch.tensor(v) for n, v in architecture.inputs(numpy.random.default_rng(5), STEPS).items()}
    with tempfile.TemporaryDirectory() as folder:
        model, inputs = os.path.join(folder, "model.onnx"), os.path.join(folder, "data")
        os.makedirs(inputs)
        for field, cells in data.items():
            numpy.save(os.path.join(inputs, field + ".npy"), cells.numpy())
        try:
            module = architecture.make().train()

            def exact():
                # The default form of experts knows no double precision.
                with forms.traced_experts(module):
                    return reference_run(module, architecture, data, torch.float64)

            losses, norms = exact()
            with forms.traced_experts(module):
                if draws_numbers(module, architecture, step_of(data, 0)):
                    raise ValueError("the module draws random numbers, such as dropout")
                single_losses, single_norms = reference_run(module, architecture, data, torch.float32)
        except Exception as error:  # noqa: BLE001 - a mistake of the zoo
            measure.emit(benchmark="architectures", model=name, good=False, stage="torch", error=repr(error)[-600:])
            return False
        own_loss, own_norm = worst(single_losses, losses), worst(single_norms, norms)
        try:
            dtcc_export.export(module, step_of(data, 0), model, loss=architecture.loss,
                               dynamic=None if architecture.dynamic else {})
        except Exception as error:  # noqa: BLE001 - whatever PyTorch's exporter raises
            measure.emit(benchmark="architectures", model=name, good=False, stage="export", error=str(error)[-600:])
            return False
        bind = binding(model, step_of(data, 0))
        good = True
        for plan in plans:
            row = {"benchmark": "architectures", "model": name, "plan": plan}
            began = time.monotonic()
            try:
                program = os.path.join(folder, "program")
                measure.compile_model(model, program, [*bind, *options_of(plan), OPTIMIZER])
                metrics, _ = measure.train(program, [f"--data={inputs}", f"--steps={STEPS}"], limit=300)
                found = [[r[field] for r in metrics["steps"]] for field in ("loss", "grad_norm")]
                loss, norm = worst(found[0], losses), worst(found[1], norms)
                near = loss <= max(REACH, 4 * own_loss) and norm <= max(REACH, 4 * own_norm)
                if not near:
                    for other in kinks.other_sides(exact):
                        if max(map(worst, found, other)) <= REACH:
                            near, row["kink"], (loss, norm) = True, True, map(worst, found, other)
                            break
                good &= near
                measure.emit(**row, good=near, loss=float(f"{loss:.2g}"), gradient_norm=float(f"{norm:.2g}"),
                             torch_loss=float(f"{own_loss:.2g}"), torch_gradient_norm=float(f"{own_norm:.2g}"),
                             seconds=round(time.monotonic() - began, 1))
            except (measure.Failed, ValueError) as error:
                good = False
                measure.emit(**row, good=False, stage="dtcc", error=str(error)[-600:])
        return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names, or families (files of zoo/); default: all")
    parser.add_argument("--plans", nargs="+", default=["dp=1"])
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    chosen = [n for n, a in zoo.ARCHITECTURES.items() if not arguments.models or {n, a.family} & set(arguments.models)]
    unknown = set(arguments.models) - set(chosen) - {zoo.ARCHITECTURES[n].family for n in chosen}
    if unknown:
        parser.error(f"no such architecture or family: {', '.join(sorted(unknown))}")
    results = [one(name, arguments.plans) for name in chosen]
    measure.note(f"{sum(results)} of {len(results)} train as PyTorch does")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
