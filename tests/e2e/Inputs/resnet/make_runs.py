#!/usr/bin/env python3
#
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
"""Makes the runs of this folder with PyTorch, in double precision:

    make_runs.py MODELS [--out FOLDER]

MODELS is the folder of the shared models (../shared/models), whose make_fixtures.py builds the model and its data; the
environment is that of its requirements.txt. The golden run is repeated first and must come out as golden.json has it.

relu-off.json: which side of zero a ReLU's input is on is not to be told in f32 if it is nearer to zero than a rounding
of it. The input nearest to zero in step 3 is such a one, and both sides of it train on, a little apart. This run has
that one cell of that one step off. Where no input were that near, this script says so and writes nothing.
microbatches-N.json: statistics, running ones too, and gradients of N micro-batches, and how far PyTorch's own runs in
single precision are from them. Batch norms that see few cells make roundings large, and AdamW moves a weight whose gradient
is nothing but roundings as far as any other. So there are NUDGED of these runs, from weights moved by up to four roundings,
and each step has the figure of the run that is furthest away.

Every run has the loss and gradient norm of each step, and of the end the L2 norms of parameters and the running
statistics themselves.
"""

import argparse
import contextlib
import copy
import json
import os
import sys

# Steps count from 1.
STEP_OF_THE_CELL = 3
PARTS = (2, 4, 8)
NUDGED = 16
# f32's rounding of a sum of numbers near one is larger.
NEAR = 1e-6


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("models")
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.models)
    import torch
    from fixturelib import ADAMW, STEPS, double_precision, make_optimizer, make_weights_distinct, seventeen
    from make_fixtures import ResNet

    torch.set_num_threads(1)
    fixture = ResNet()
    torch.manual_seed(20240101)
    start = make_weights_distinct(fixture.build())
    data = fixture.data()

    def train(parts=1, off=None, watched=None, single=False, nudge=0):
        """`off`: (step, call of a ReLU, cell) that counts as below zero; `watched`: gets (|x|, step, call, cell, x); `nudge`:
        the seed of a change of all weights by four roundings of f32 at most, 0 is none."""
        kind = torch.float32 if single else torch.float64
        model = copy.deepcopy(start).to(kind).train()
        parameters = list(model.parameters())
        if nudge:
            random = torch.Generator().manual_seed(nudge)
            for parameter in parameters:
                parameter.data *= 1 + torch.finfo(torch.float32).eps * torch.randint(-4, 5, parameter.shape, generator=random)
        optimizer = make_optimizer(ADAMW, parameters)
        place = {"step": 0, "call": 0}

        def hook(_, inputs, result):
            here = place["step"], place["call"]
            place["call"] += 1
            if watched is not None:
                cell = int(inputs[0].abs().argmin())
                value = inputs[0].flatten()[cell].item()
                watched.append((abs(value), *here, cell, value))
            if off and here == off[:2]:
                kept = torch.ones_like(result).flatten()
                kept[off[2]] = 0
                return result * kept.reshape(result.shape)
            return None

        for module in model.modules():
            if isinstance(module, torch.nn.ReLU):
                # In place there would be no input left to look at.
                module.inplace = False
                module.register_forward_hook(hook)
        losses, norms = [], []
        size = fixture.batch // parts
        with contextlib.nullcontext() if single else double_precision():
            for step in range(STEPS):
                place.update(step=step + 1, call=0)
                optimizer.zero_grad(set_to_none=True)
                total = 0.0
                for part in range(parts):
                    rows = slice(step * fixture.batch + part * size, step * fixture.batch + (part + 1) * size)
                    x = torch.from_numpy(data["x"][rows]).to(kind)
                    loss = fixture.loss(model, x, torch.from_numpy(data["labels"][rows])) / parts
                    loss.backward()
                    total += loss.item()
                losses.append(total)
                norms.append(torch.sqrt(sum((p.grad ** 2).sum() for p in parameters)).item())
                optimizer.step()
        return model, losses, norms

    def of_single_precision(runs, exact):
        """Each step's figures of the run that is furthest from the exact one, and how far the parameters' norms and the
        running statistics are from the exact ones, at most."""
        model, *figures = exact
        furthest = [[max(values, key=lambda value: abs(value - right)) for right, *values in zip(of, *others)]
                    for of, others in zip(figures, zip(*(run[1:] for run in runs)))]
        parameters = max(abs(p.norm().item() / e.norm().item() - 1)
                         for run in runs for p, e in zip(run[0].parameters(), model.parameters()))
        buffers = max(((b - e).abs().max() / e.abs().max()).item()
                      for run in runs for b, e in zip(run[0].buffers(), model.buffers()) if b.is_floating_point())
        return {"f32": {"loss": furthest[0], "gradient_norm": furthest[1]},
                "f32_vs_f64": {"parameter_relative_max": parameters, "buffer_relative_max": buffers}}

    def write(name, note, run, singles=()):
        model, losses, norms = run
        held = {n: [seventeen(v) for v in b.flatten().tolist()] for n, b in model.named_buffers() if b.is_floating_point()}
        with open(os.path.join(arguments.out, name), "w") as file:
            json.dump({"note": note, "f64": {"loss": losses, "gradient_norm": norms},
                       **(of_single_precision(singles, run) if singles else {}),
                       "final_l2_f64": {n: p.norm().item() for n, p in model.named_parameters()},
                       "final_buffers": held}, file, indent=1)
            file.write("\n")

    watched = []
    golden = train(watched=watched)
    with open(os.path.join(arguments.models, "resnet", "golden.json")) as file:
        expected = json.load(file)["runs"]["adamw"]["f64"]["loss"]
    worst = max(abs(loss - other) / other for loss, other in zip(golden[1], expected, strict=True))
    if worst > 1e-12:
        sys.exit(f"make_runs.py: the golden run does not repeat, a loss differs by {worst:.1e}")
    nearest, step, call, cell, value = min(entry for entry in watched if entry[1] == STEP_OF_THE_CELL)
    if nearest > NEAR or value < 0:
        sys.exit(f"make_runs.py: the ReLU's input nearest to zero in step {step} is {value:.1e}: none to put off")
    write("relu-off.json", f"Step {step} of the golden run has a ReLU whose input is {value:.1e}, less than f32's rounding "
          "of it. This is the run in double precision with that one cell of that one step off.",
          train(off=(step, call, cell)))
    for parts in PARTS:
        write(f"microbatches-{parts}.json", f"{parts} micro-batches of {fixture.batch // parts} examples, in double precision: "
              "statistics and running statistics of each micro-batch, gradients averaged. f32: PyTorch's own, of "
              f"{NUDGED} runs.",
              train(parts=parts), [train(parts=parts, single=True, nudge=seed) for seed in range(NUDGED)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
