# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ARCHITECTURES: how each small model is made, and which inputs it is trained on. No model has dropout."""
import dataclasses
import typing

import numpy

WORDS, BATCH, LENGTH = 61, 4, 16
ARCHITECTURES = {}


@dataclasses.dataclass
class Architecture:
    make: typing.Callable    # () -> torch.nn.Module
    inputs: typing.Callable  # (random, steps) -> {name: array}, all steps' rows one after the other
    loss: str | None         # what tools/export attaches to the module's logits; None: the module returns its loss
    family: str              # the file of this folder that adds it
    dynamic: bool = True     # whether rows are samples, so that the file may leave their number open
    untraceable: str = ""    # why PyTorch cannot export it, where it cannot


def numbers(*shape, rows=BATCH):
    """Normally distributed floats: `rows` of this shape a step."""
    return lambda random, steps: random.standard_normal((rows * steps, *shape)).astype(numpy.float32)


def classes(count, *shape, rows=BATCH, start=0):
    """Integers from `start` up to `count`."""
    return lambda random, steps: random.integers(start, count, (rows * steps, *shape))


def repeated(array):
    """The same array in every step, as the edges of one graph are."""
    return lambda _, steps: numpy.concatenate([array] * steps)


def fields(**makers):
    """Inputs made one by one, in the order of their names here."""
    return lambda random, steps: {name: make(random, steps) for name, make in makers.items()}


def _own_labels(random, steps):
    ids = classes(WORDS, LENGTH, start=4)(random, steps)
    return {"input_ids": ids, "labels": ids.copy()}


def _other_labels(random, steps):
    ids = classes(WORDS, LENGTH, start=4)(random, steps)
    return {"input_ids": ids, "labels": (ids * 7 + 3) % WORDS}


def shortened(kept, hidden, *between):
    """Attention masks of sentences of which the last tokens do not count: `kept` and `hidden` are their cells, and `between`
    the dimensions between a sentence and its tokens."""
    words = numpy.arange(LENGTH) < LENGTH - numpy.arange(BATCH)[:, None]
    return repeated(numpy.where(words, kept, hidden).reshape(BATCH, *between, LENGTH))


SENTENCES = classes(WORDS, LENGTH, start=4)
IMAGES = numbers(3, 32, 32)
# Name -> the inputs, and the loss of the module's logits.
KINDS = {
    "causal": (_own_labels, None),
    "seq2seq": (fields(input_ids=SENTENCES, labels=SENTENCES), None),
    "tokens": (_other_labels, "cross_entropy"),
    "image": (fields(x=IMAGES, labels=classes(10)), "cross_entropy"),
    "large image": (fields(x=numbers(3, 64, 64), labels=classes(10)), "cross_entropy"),
    "pair": (fields(input_ids=SENTENCES, x=IMAGES), None),
    "speech": (fields(labels=SENTENCES, sound=numbers(8, 32)), None),
}


def add(family, kind, name, make, dynamic=True, untraceable=""):
    """An architecture that takes one of KINDS, or inputs of its own and returns its loss."""
    if name in ARCHITECTURES:
        raise ValueError(f"two architectures named '{name}'")
    inputs, loss = KINDS[kind] if isinstance(kind, str) else (kind, None)
    ARCHITECTURES[name] = Architecture(make, inputs, loss, family.rpartition(".")[2], dynamic, untraceable)
