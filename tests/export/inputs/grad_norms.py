# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms of gradients by parameter against p.grad.norm() of PyTorch in double precision, while AdamW trains with clipping.

    grad_norms.py MODEL PLAN..     compiles MODEL (recipes:gpt2) under each plan, and trains it on the data of recipes.py
"""
import json
import subprocess
import sys

import recipes
import torch

STEPS, CLIP = 4, 0.3


def reference():
    module = recipes.gpt2()[0].double().train()
    optimizer, ids = recipes.adamw(module), recipes.samples(1, recipes.STEPS * recipes.BATCH)
    norms = []
    for batch in ids.split(recipes.BATCH)[:STEPS]:
        optimizer.zero_grad()
        recipes.loss_of(module, batch).backward()
        norms.append({name: parameter.grad.norm().item() for name, parameter in module.named_parameters()})
        # The test would see nothing of clipping if it did nothing.
        assert torch.nn.utils.clip_grad_norm_(module.parameters(), CLIP) > CLIP
        optimizer.step()
    return norms


def main():
    model, plans = sys.argv[1], sys.argv[2:]
    norms = reference()
    for plan in plans:
        mesh, *more = plan.split()
        subprocess.run(["dtcc", model, f"--bind=batch={recipes.BATCH},seq={recipes.LENGTH}", f"--mesh={mesh}", *more,
                        "--optimizer=adamw:lr=1e-2,eps=1e-5", f"--clip={CLIP}", "--no-eval", "-o", "program"], check=True)
        subprocess.run(["./program", "--data=data", f"--steps={STEPS}", "--grad-norms=1", "--metrics=metrics"], check=True,
                       stdout=subprocess.DEVNULL)
        rows = [row for row in map(json.loads, open("metrics")) if "grad_norms" in row]
        assert len(rows) == STEPS
        worst = 0
        for row, wanted in zip(rows, norms):
            assert row["grad_norms"].keys() == wanted.keys(), (row["grad_norms"].keys(), wanted.keys())
            worst = max(worst, *(abs(row["grad_norms"][name] - norm) / norm for name, norm in wanted.items()))
        print(f"{plan}: norms {worst:.1e}")
        assert worst <= 1e-5, (plan, worst)


main()
