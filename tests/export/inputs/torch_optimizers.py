# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers of PyTorch that update whole tensors, as `optimizer=` of dtcc.compile: losses of three steps against PyTorch's. What
dtcc's optimizers lack is refused by name."""
import copy
import logging
import warnings

import numpy
import torch

import dtcc

warnings.filterwarnings("ignore")
logging.getLogger("torch.onnx").setLevel(logging.ERROR)
BATCH, STEPS = 8, 4


def matrices(module):
    return [parameter for parameter in module.parameters() if parameter.dim() == 2]


# Name -> (what makes the optimizer, the greatest relative distance of a loss). Muon's directions are computed in bf16.
OPTIMIZERS = {
    "muon": (lambda m: torch.optim.Muon(matrices(m), lr=2e-2, momentum=0.9, nesterov=False, weight_decay=0.2), 1e-3),
    "matched_muon": (lambda m: torch.optim.Muon(matrices(m), lr=5e-2, ns_steps=4, adjust_lr_fn="match_rms_adamw"), 1e-3),
    "adafactor": (lambda m: torch.optim.Adafactor(m.parameters(), lr=3e-2, d=1.5, weight_decay=0.1), 2e-6),
    "adafactor_eps": (lambda m: torch.optim.Adafactor(m.parameters(), lr=0.5, beta2_decay=-0.6, eps=(1e-3, 0.1)), 2e-6),
}
REFUSED = {
    "dtcc's optimizers have no ns_coefficients": lambda m: torch.optim.Muon(matrices(m), ns_coefficients=(3, -4, 2)),
    "dtcc's optimizers have no adjust_lr_fn='spectral_unclamped'; they have None, 'original', 'match_rms_adamw'":
        lambda m: torch.optim.Muon(matrices(m), adjust_lr_fn="spectral_unclamped"),
    "dtcc's optimizers have no maximize": lambda m: torch.optim.Adafactor(m.parameters(), maximize=True),
}
REFUSED |= {
    "rates of groups are factors of the optimizer's lr, which must be above 0 beside them, got: lr=0 and groups of [0.0, 0.1]":
        lambda m: torch.optim.AdamW([{"params": matrices(m)}, {"params": vectors(m), "lr": 0.1}], lr=0),
    "those of a cyclic scheduler, which dtcc lacks":
        lambda m: scheduled(torch.optim.SGD(m.parameters(), lr=0.1), torch.optim.lr_scheduler.OneCycleLR, 1.0, 10),
}


def vectors(module):
    return [parameter for parameter in module.parameters() if parameter.dim() == 1]


def scheduled(optimizer, scheduler, *settings):
    scheduler(optimizer, *settings)
    return optimizer


# A scheduler that begins at a tenth of the rate leaves the optimizer's own one to the file and the program.
OPTIMIZERS["scheduled"] = (lambda m: torch.optim.SGD([{"params": matrices(m)}, {"params": vectors(m), "lr": 0.02}], lr=0.1), 2e-6)
SCHEDULED = {"scheduled": lambda optimizer: scheduled(optimizer, torch.optim.lr_scheduler.LinearLR, 0.1)}
torch.manual_seed(0)
module = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
data = {"input": torch.randn(BATCH * STEPS, 6), "labels": torch.randint(0, 4, (BATCH * STEPS,))}
example = {name: cells[:BATCH] for name, cells in data.items()}
for name, cells in data.items():
    numpy.save(f"{name}.npy", cells.numpy())
for name, (make, reach) in OPTIMIZERS.items():
    reference, tuned, wanted = copy.deepcopy(module), copy.deepcopy(module), []
    optimizer = make(reference)
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(reference(data["input"][rows]), data["labels"][rows])
        loss.backward()
        optimizer.step()
        wanted.append(loss.item())
    program = dtcc.compile(tuned, example, loss="cross_entropy", cluster="cpu:1", optimizer=SCHEDULED.get(name, lambda optimizer: optimizer)(make(tuned)))
    run = program.run(data={key: f"{key}.npy" for key in data}, steps=STEPS, progress=False)
    worst = max(abs(row["loss"] - b) / b for row, b in zip(run.metrics, wanted, strict=True))
    assert worst <= reach, (name, worst, wanted)
    print(f"{name}: as PyTorch")
for words, make in REFUSED.items():
    try:
        dtcc.compile(module, example, loss="cross_entropy", cluster="cpu:1", optimizer=make(module))
    except ValueError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")
print("others refused")
