# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What export() takes for a loss, for inputs and for parameters, and what it refuses with which words: arguments.py FILE"""
import collections
import dataclasses
import sys
import warnings

import onnx
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

import dtcc_export

Pair = collections.namedtuple("Pair", "logits cost")


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    cost: torch.Tensor


class Returns(nn.Module):
    """Returns `form` of its loss and its logits."""

    def __init__(self, form):
        super().__init__()
        self.layer, self.form = nn.Linear(8, 5), form

    def forward(self, x, y):
        logits = self.layer(x)
        return self.form(F.cross_entropy(logits, y), logits)


class Calls(nn.Module):
    """Calls `form` of the embeddings of words, and of a number if it gets one."""

    def __init__(self, form):
        super().__init__()
        self.words, self.form, self.unread = nn.Embedding(9, 4), form, nn.Linear(3, 2)

    def forward(self, ids, **more):
        return self.form(self.words(ids), **more).square().mean()


class Scaled(Calls):
    def forward(self, ids, scale):
        return (self.words(ids) * scale).mean()


class Misfit(Calls):
    def forward(self, ids):
        return self.through(self.words(ids)).mean()

    def through(self, x):
        return self.unread(x)


def turned(x):
    return x if x.sum() > 0 else -x


BOTH = {"x": torch.randn(4, 8), "y": torch.randint(0, 5, (4,))}
IDS = {"ids": torch.randint(0, 9, (4, 6))}
OPEN = {"ids": {0: "batch", 1: "seq"}}
# Name -> (module, inputs, options of export).
TAKEN = {
    "loss in a dictionary": (Returns(lambda loss, logits: {"loss": loss, "accuracy": loss.detach(), "logits": logits}), BOTH, {}),
    "only scalar of a dictionary": (Returns(lambda loss, logits: {"cost": loss, "logits": logits}), BOTH, {}),
    "loss first": (Returns(lambda loss, logits: (loss, logits)), BOTH, {}),
    "loss last": (Returns(lambda loss, logits: [logits, loss]), BOTH, {}),
    "named tuple": (Returns(lambda loss, logits: Pair(logits, loss)), BOTH, {}),
    "data class": (Returns(lambda loss, logits: Output(logits, loss)), BOTH, {}),
    "callable that picks": (Returns(lambda loss, logits: {"a": loss, "b": loss}), BOTH, {"loss": lambda output: output["b"]}),
    "callable with labels that forward takes too": (Returns(lambda loss, logits: logits), BOTH,
                                                    {"loss": lambda output, y: F.cross_entropy(output, y)}),
    "unread parameters in bf16": (Calls(torch.tanh).to(torch.bfloat16), IDS, {}),
}
REFUSED = {
    "the module returns 2 scalars: output['cost'], output['rate']; name the loss, for example loss=lambda output: output['cost']":
        (Returns(lambda loss, logits: {"cost": loss, "rate": loss, "logits": logits}), BOTH, {}),
    "the module returns 2 scalars: output[1], output[2]; name the loss":
        (Returns(lambda loss, logits: (logits, loss, loss)), BOTH, {}),
    "the module returns no scalar": (Returns(lambda loss, logits: {"loss": logits, "accuracy": loss}), BOTH, {}),
    "the loss takes 'target', which is no example input, got: x, y; name it as one of these":
        (Returns(lambda loss, logits: logits), BOTH, {"loss": nn.CrossEntropyLoss()}),
    "example input 'scale' is a scalar, and every input of a step has a dimension of samples":
        (Scaled(None), {**IDS, "scale": torch.tensor(0.5)}, {}),
    "a split into pieces of 4 needs a size that is known, and that of its operand's dimension 1 is open; leave the dimension "
    "out of dynamic=": (Calls(lambda x: x.split(4, 1)[1]), IDS, {"dynamic": OPEN}),
    "the module takes no size of dimension 1 of 'ids' but the example's":
        (Calls(lambda x: x.split([2, 4], 1)[1]), IDS, {"dynamic": OPEN}),
    "forward has no argument 'words', and no loss takes it, got arguments: ids, scale; name the example inputs after":
        (Scaled(None), {"ids": IDS["ids"], "words": IDS["ids"]}, {}),
    "forward needs 'scale', which is no example input, got: ids": (Scaled(None), IDS, {}),
    "forward branches on what a tensor holds, which no trace knows (return x if x.sum() > 0 else -x): choose by torch.where":
        (Calls(turned), IDS, {}),
    "X [3, 2]. (return self.unread(x))":
        (Misfit(None), IDS, {"dynamic": OPEN}),
    "'data' of a PackedSequence cannot be exported (":
        (Calls(lambda x: pack_padded_sequence(x, torch.full((x.shape[0],), 3), batch_first=True).data), IDS, {}),
    "'aten.linalg_qr' has no form in ONNX": (Calls(lambda x: torch.linalg.qr(x)[1]), IDS, {}),
}


class Scored(nn.Module):
    """A loss with a parameter of its own."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, output):
        return (output * self.scale).square().mean()


LINEAR, SCORED = nn.Linear(3, 2), Scored()
ROWS = {"input": torch.ones(4, 3)}
GROUPS = [{"params": LINEAR.weight, "betas": (0.5, 0.5), "name": "first"}, {"params": LINEAR.bias, "name": "second"}]
REFUSED |= {
    "the loss has parameters of its own ('scale'), which would not train": (LINEAR, ROWS, {"loss": SCORED}),
    "the loss has parameters of its own ('scale'), which": (LINEAR, ROWS, {"loss": lambda output: SCORED(output)}),
    "same settings but for lr and weight_decay, got: betas=(0.5, 0.5) and (0.9, 0.999)":
        (LINEAR, ROWS, {"loss": torch.mean, "optimizer": torch.optim.AdamW(GROUPS)}),
    "dtcc's optimizers have no maximize, got: maximize=True":
        (LINEAR, ROWS, {"loss": torch.mean, "optimizer": torch.optim.SGD(LINEAR.parameters(), maximize=True)}),
    "dtcc's optimizers have no amsgrad, got: amsgrad=True":
        (LINEAR, ROWS, {"loss": torch.mean, "optimizer": torch.optim.AdamW(LINEAR.parameters(), amsgrad=True)}),
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    SCRIPTED = nn.Sequential(torch.jit.script(nn.Linear(3, 2)))
REFUSED |= {
    "module '0' is compiled by torch.jit, which cannot be traced: give the module that it was made of":
        (SCRIPTED, ROWS, {"loss": torch.mean}),
    "dimension 'batch' is 4 in 'input' and 5 in 'places': the first dimension of every input counts as samples":
        (LINEAR, {**ROWS, "places": torch.ones(5)}, {"loss": torch.mean}),
}


def exported(module, inputs, options, path):
    """The warnings of an export."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        dtcc_export.export(module, inputs, path, **options)
    return [str(each.message) for each in shown]


path = sys.argv[1]
for name, (module, inputs, options) in TAKEN.items():
    others = exported(module, inputs, options, path)
    assert not [text for text in others if "The axis name" in text], others
    output, = onnx.load(path).graph.output
    assert output.name == "loss" and not output.type.tensor_type.shape.dim, output
    print(f"{name}: taken")
held = {each.name: each for each in onnx.load(path).graph.initializer}
assert held["unread.weight"].raw_data == TAKEN[name][0].unread.weight.detach().view(torch.uint8).numpy().tobytes()
for words, (module, inputs, options) in REFUSED.items():
    try:
        exported(module, inputs, options, path)
    except dtcc_export.ExportError as error:
        assert str(error).find(words) >= 0, f"{error}, not: {words}"
    else:
        raise AssertionError(f"not refused: {words}")
# An open number of pieces holds the example's length.
assert exported(Calls(lambda x: x.split(4, 1)[1]), IDS, {}, path) == [
    "the module takes sequences of the example's length alone: no dimension is named 'seq'"]
assert not exported(Calls(lambda x: x + x.shape[1]), IDS, {}, path)
print("others refused")
