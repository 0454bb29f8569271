# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every form of attention that recovery knows, and those that it leaves as products and a softmax: a model for each, and
"all", whose layers they are. How it is called: against_torch.py."""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch

LENGTH, WORDS, HEADS, SIZE = 16, 24, 4, 8
WIDTH = HEADS * SIZE


def places():
    """Numbers of queries [t, 1] and of keys [1, s]."""
    i = torch.arange(LENGTH)
    return i[:, None], i[None]


def attend(q, k, v, mask=None, bias=None, cap=None, fill=None):
    """q, k, v [b, h, t, d]; `mask` is true where a key is seen; `fill`: what masked scores are, if not -inf."""
    scores = q @ k.transpose(-1, -2) * SIZE ** -0.5
    if cap:
        scores = cap * torch.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf") if fill is None else fill)
    return torch.softmax(scores, -1) @ v


def causal():
    i, j = places()
    return j <= i


def same(numbers):
    """Pairs of one document [b, 1, t, s]."""
    return numbers[:, None, :, None] == numbers[:, None, None, :]


def alibi():
    i, j = places()
    slopes = torch.tensor([2.0 ** -(h + 1) for h in range(HEADS)])
    return -slopes[:, None, None] * (i - j).abs()


def seen(data):
    """Keys that are no padding [b, 1, 1, s]."""
    return data["ids"][:, None, None, :] > 2


def grouped(q, k, v, mask):
    """Two heads of queries to each of keys."""
    k, v = (x[:, : HEADS // 2].repeat_interleave(2, 1) for x in (k, v))
    return attend(q, k, v, mask)


def with_sinks(layer, q, k, v):
    """One more score of each head, whose weight nobody gets (gpt-oss)."""
    scores = (q @ k.transpose(-1, -2) * SIZE ** -0.5).masked_fill(~causal(), float("-inf"))
    sinks = layer.sinks[None, :, None, None].expand(q.shape[0], -1, LENGTH, 1)
    return torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1] @ v


def relative(layer):
    """A learned bias by distance (T5) [h, t, s]."""
    i, j = places()
    return layer.distances[(i - j + LENGTH - 1)].permute(2, 0, 1)


def halves_of(data):
    return data["doc"] // 2


# (layer, q, k, v, data) to the heads' results.
FORMS = {
    "plain": lambda a, q, k, v, x: attend(q, k, v),
    "causal": lambda a, q, k, v, x: attend(q, k, v, causal()),
    "fused": lambda a, q, k, v, x: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "window": lambda a, q, k, v, x: attend(q, k, v, causal() & (places()[0] - places()[1] < 5)),
    "band": lambda a, q, k, v, x: attend(q, k, v, (places()[0] - places()[1]).abs() <= 3),
    "prefix": lambda a, q, k, v, x: attend(q, k, v, causal() | (places()[1] < 4)),
    "blocks": lambda a, q, k, v, x: attend(q, k, v, places()[0] // 4 == places()[1] // 4),
    "causal_blocks": lambda a, q, k, v, x: attend(q, k, v, places()[0] // 4 >= places()[1] // 4),
    "padding": lambda a, q, k, v, x: attend(q, k, v, seen(x), fill=torch.finfo(torch.float32).min),
    "causal_padding": lambda a, q, k, v, x: attend(q, k, v, seen(x) & causal(), fill=-1e30),
    "documents": lambda a, q, k, v, x: attend(q, k, v, same(x["doc"])),
    "causal_documents": lambda a, q, k, v, x: attend(q, k, v, same(x["doc"]) & causal()),
    "fused_documents": lambda a, q, k, v, x: F.scaled_dot_product_attention(q, k, v, same(x["doc"]) & causal()),
    # Queries before the first of these keys see none.
    "fused_no_key": lambda a, q, k, v, x: F.scaled_dot_product_attention(q, k, v, (x["ids"][:, None, None] > WORDS // 2) & causal()),
    "window_documents": lambda a, q, k, v, x: attend(
        q, k, v, same(x["doc"]) & causal() & (places()[0] - places()[1] < 5)),
    "padded_documents": lambda a, q, k, v, x: attend(
        q, k, v, same(x["doc"]) & causal() & seen(x), fill=torch.finfo(torch.float32).min),
    "capped_documents": lambda a, q, k, v, x: attend(q, k, v, same(x["doc"]) & causal(), cap=3.0),
    "grouped_documents": lambda a, q, k, v, x: grouped(q, k, v, same(x["doc"]) & causal()),
    "narrow_documents": lambda a, q, k, v, x: attend(q, k, v, same(x["doc"].to(torch.int32)) & causal()),
    "two_numbers": lambda a, q, k, v, x: attend(q, k, v, same(x["doc"]) & same(x["ids"] % 3)),
    "documents_of_one_text": lambda a, q, k, v, x: attend(q, k, v, same(x["doc"]) | same(halves_of(x))),
    "counted_documents": lambda a, q, k, v, x: attend(q, k, v, same(torch.cumsum((x["ids"] > 15).long(), 1)) & causal()),
    "biased_documents": lambda a, q, k, v, x: attend(q, k, v, same(x["doc"]) & causal(), alibi()),
    "cap": lambda a, q, k, v, x: attend(q, k, v, causal(), cap=2.0),
    "alibi": lambda a, q, k, v, x: attend(q, k, v, causal(), alibi()),
    "relative": lambda a, q, k, v, x: attend(q, k, v, None, relative(a)),
    "causal_relative": lambda a, q, k, v, x: attend(q, k, v, causal(), relative(a)),
    "sinks": lambda a, q, k, v, x: with_sinks(a, q, k, v),
    "given": lambda a, q, k, v, x: attend(q, k, v, x["pairs"][:, None]),
    "given_documents": lambda a, q, k, v, x: attend(q, k, v, x["pairs"][:, None] & same(x["doc"])),
}


class Layer(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.form = form
        if form == "sinks":
            self.sinks = nn.Parameter(torch.randn(HEADS))
        if form in ("relative", "causal_relative"):
            self.distances = nn.Parameter(torch.randn(2 * LENGTH - 1, HEADS))

    def forward(self, x, data):
        q, k, v = self.qkv(self.norm(x)).reshape(*x.shape[:2], 3, HEADS, SIZE).permute(2, 0, 3, 1, 4)
        y = FORMS[self.form](self, q, k, v, data)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class Model(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers, self.head = nn.ModuleList(Layer(name) for name in names), nn.Linear(WIDTH, WORDS)

    def forward(self, ids, labels, doc, pairs):
        x, data = self.words(ids), {"ids": ids, "doc": doc, "pairs": pairs}
        for layer in self.layers:
            x = layer(x, data)
        return F.cross_entropy(self.head(x).reshape(-1, WORDS), labels.reshape(-1))


def inputs():
    """Every token sees itself."""
    random, rows = numpy.random.default_rng(3), against_torch.BATCH * against_torch.STEPS
    data = {"ids": random.integers(0, WORDS, (rows, LENGTH)), "labels": random.integers(0, WORDS, (rows, LENGTH))}
    data["ids"][:, 0] = 7
    data["doc"] = numpy.sort(random.integers(0, 4, (rows, LENGTH)), 1)
    data["pairs"] = (random.random((rows, LENGTH, LENGTH)) < 0.4) | numpy.eye(LENGTH, dtype=bool)
    return data


MODELS = {form: lambda form=form: Model([form]) for form in FORMS} | {"all": lambda: Model(list(FORMS))}

if __name__ == "__main__":
    sys.exit(against_torch.main(MODELS, inputs(), LENGTH))
