# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A PyTorch module from Python: compiled, trained as PyTorch trains it, and its weights back in the module."""
import copy
import logging
import pathlib
import warnings

import numpy
import torch

import dtcc

warnings.filterwarnings("ignore")
logging.getLogger("torch.onnx").setLevel(logging.ERROR)
torch.manual_seed(0)
BATCH, STEPS = 8, 6


class Classifier(torch.nn.Module):
    """The last layer shares its weights with the first, and a buffer counts nothing but is in the state."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 32, bias=False)
        self.norm = torch.nn.BatchNorm1d(32)
        self.last = torch.nn.Linear(32, 16, bias=False)
        self.tied = torch.nn.Linear(32, 16, bias=False)
        self.tied.weight = self.last.weight
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        hidden = torch.relu(self.norm(self.first(x)))
        return (self.last(hidden) + 0.5 * self.tied(torch.tanh(hidden))) * self.scale


def trained_by_torch(module, data, optimizer):
    losses = []
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(torch.tensor(data["x"][rows], dtype=module.scale.dtype)),
                                                 torch.tensor(data["labels"][rows]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


random = numpy.random.default_rng(0)
data = {"x": random.standard_normal((BATCH * STEPS, 16)).astype(numpy.float32),
        "labels": random.integers(0, 16, BATCH * STEPS)}
for name, value in data.items():
    numpy.save(f"{name}.npy", value)
module = Classifier()
example = {name: torch.tensor(value[:BATCH]) for name, value in data.items()}


def decaying(module):
    """AdamW whose second group does not decay."""
    matrices = [p for p in module.parameters() if p.dim() > 1]
    others = [p for p in module.parameters() if p.dim() < 2]
    return torch.optim.AdamW([{"params": matrices}, {"params": others, "weight_decay": 0}], lr=3e-2, betas=(0.8, 0.95),
                             weight_decay=0.2)


OPTIMIZERS = {
    "adamw": decaying,
    "adam": lambda module: torch.optim.Adam(module.parameters(), lr=1e-2, weight_decay=0.1),
    "sgd": lambda module: torch.optim.SGD(module.parameters(), lr=1e-1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adagrad": lambda module: torch.optim.Adagrad(module.parameters(), lr=1e-1, lr_decay=0.1),
}
for name, make in OPTIMIZERS.items():
    reference = copy.deepcopy(module).double()
    expected = trained_by_torch(reference, data, make(reference))
    tuned = copy.deepcopy(module)
    program = dtcc.compile(tuned, example, loss="cross_entropy", cluster="cpu:2", optimizer=make(tuned))
    run = program.run(data={key: f"{key}.npy" for key in data}, steps=STEPS, progress=False)
    losses = [row["loss"] for row in run.metrics]
    assert max(abs(a - b) / abs(b) for a, b in zip(losses, expected)) < 2e-6, (name, losses, expected)
    run.load_into(tuned)
    worst = max(float((value.double() - reference.state_dict()[key]).abs().max())
                for key, value in tuned.state_dict().items() if key != "norm.num_batches_tracked")
    assert worst < 5e-5 and tuned.tied.weight is tuned.last.weight, (name, worst)
    print(f"{name}: losses and weights are PyTorch's")

first = run

# One file instead of a folder, into a module in another type.
run = program.run(data=".", steps=1, progress=False, save="one.safetensors")
half = copy.deepcopy(module).half()
run.load_into(half)
assert half.first.weight.dtype == torch.float16 and not torch.equal(half.first.weight, module.first.weight.half())

# dtcc.export writes the file that compile() takes.
facts = dtcc.export(module, example, "model.onnx", loss="cross_entropy")
assert facts["loss"]["kind"] == "cross_entropy"
again = dtcc.compile("model.onnx", bind={"batch": BATCH}, optimizer="adagrad:lr=0.1,lr_decay=0.1", cluster="cpu:2")
assert again.run(data=".", steps=1, progress=False).metrics[0]["loss"] == run.metrics[0]["loss"]


def refused(kind, call, *parts):
    try:
        call()
    except kind as error:
        assert all(part in str(error) for part in parts), (str(error), parts)
        return
    raise AssertionError(f"not refused: {parts}")


def build(**options):
    return dtcc.compile(module, example, loss="cross_entropy", cluster="cpu:1", **options)


parameters = list(module.parameters())
refused(TypeError, lambda: dtcc.compile(module), "example={name: tensor}")
refused(TypeError, lambda: build(optimizer=torch.optim.RMSprop(parameters)), "AdamW, Adam, SGD, Adagrad, got: RMSprop")
refused(ValueError, lambda: build(optimizer=torch.optim.Adam(parameters, amsgrad=True)), "dtcc's optimizers have no amsgrad")
refused(ValueError, lambda: build(optimizer=torch.optim.SGD(
    [{"params": parameters[:1], "momentum": 0.5}, {"params": parameters[1:]}], lr=1)), "must have the same settings")
used = torch.optim.Adam(reference.parameters())
trained_by_torch(reference, data, used)
refused(ValueError, lambda: build(optimizer=used), "made steps already")
refused(ValueError, lambda: run.load_into(torch.nn.Linear(16, 32)),
        "one.safetensors is not of this module: it lacks ['bias', 'weight'] and has ['first.weight'")
refused(RuntimeError, lambda: first.load_into(torch.nn.Linear(2, 2)), "Unexpected key(s)")
refused(ValueError, lambda: program.run(data=".", steps=1, progress=False, save=False).load_into(module), "saved no weights")
pathlib.Path("empty").mkdir()
run.weights = pathlib.Path("empty")
refused(ValueError, lambda: run.load_into(module), "no weights in empty")
print("refused")
