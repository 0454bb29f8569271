# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flex_attention with masks and changes of scores of many kinds, against the same attention by products and a softmax, because
PyTorch trains flex_attention on GPUs alone. How it is called: against_torch.py; with --refused it tries what cannot be exported."""
import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import AuxRequest, and_masks, create_block_mask, flex_attention, or_masks

import against_torch
import dtcc_export

HEADS, SIZE, WIDTH, WORDS, LENGTH = 4, 4, 16, 20, 12
COMPILED = torch.compile(flex_attention)


def causal(b, h, q, k):
    return q >= k


def near(b, h, q, k):
    return q - k < 5


def first(b, h, q, k):
    return k < 3


def of_documents(layer, ids):
    documents = (ids == 0).cumsum(1)
    return lambda b, h, q, k: documents[b, q] == documents[b, k]


def later(layer, ids):
    """Queries before the first of these keys see none."""
    return lambda b, h, q, k: ids[b, k] > WORDS // 2


def of(*masks):
    return lambda layer, ids: and_masks(*masks)


def by_distance(layer):
    return lambda score, b, h, q, k: score + layer.slopes[h] * (k - q)


def from_table(layer):
    return lambda score, b, h, q, k: score + layer.table[h, q - k + LENGTH - 1]


def capped(layer):
    return lambda score, b, h, q, k: 3 * torch.tanh(score / 3)


def far_apart(layer):
    """A mask as some write it, in the scores."""
    return lambda score, b, h, q, k: torch.where(q - k < 7, score, -float("inf"))


# Name -> the mask of a layer and its ids, the change of scores of a layer, further arguments.
FORMS = {
    "plain": (None, None, {}),
    "causal": (of(causal), None, {}),
    "window": (of(causal, near), None, {}),
    "prefix": (lambda layer, ids: or_masks(causal, first), None, {}),
    "documents": (lambda layer, ids: and_masks(causal, of_documents(layer, ids)), None, {}),
    "no_key": (lambda layer, ids: and_masks(causal, later(layer, ids)), None, {}),
    "distance": (of(causal), by_distance, {}),
    "table": (of(near), from_table, {"scale": 0.3}),
    "capped": (lambda layer, ids: and_masks(causal, of_documents(layer, ids)), capped, {}),
    "masked_scores": (None, far_apart, {}),
    "grouped": (of(causal), None, {"enable_gqa": True}),
    "sums": (of(causal), capped, {"return_aux": AuxRequest(lse=True)}),
}


def attended(q, k, v, mask, change, options):
    """The same by products and a softmax."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * options.get("scale", SIZE ** -0.5)
    b, h, i, j = (torch.arange(n).view([-1 if a == own else 1 for own in range(4)]) for a, n in enumerate(scores.shape))
    scores = change(scores, b, h, i, j) if change else scores
    seen = mask(b, h, i, j).expand_as(scores) if mask else torch.ones_like(scores, dtype=torch.bool)
    some = seen.any(-1, keepdim=True)
    scores = scores.masked_fill(~seen & some, -float("inf"))
    result = scores.softmax(-1).masked_fill(~some, 0) @ v
    return (result, scores.logsumexp(-1)) if "return_aux" in options else result


class Layer(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form, self.flexible = form, True
        self.shared = 2 if "enable_gqa" in FORMS[form][2] else HEADS
        self.q, self.kv, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * self.shared * SIZE), nn.Linear(WIDTH, WIDTH)
        if form == "distance":
            self.slopes = nn.Parameter(torch.rand(HEADS))
        if form == "table":
            self.table = nn.Parameter(torch.randn(HEADS, 2 * LENGTH - 1))

    def forward(self, x, ids):
        mask, change, options = FORMS[self.form]
        mask, change = mask and mask(self, ids), change and change(self)
        q, k, v = (y.unflatten(-1, (-1, SIZE)).transpose(1, 2) for y in (self.q(x), *self.kv(x).chunk(2, -1)))
        if self.flexible:
            blocks = create_block_mask(mask, x.shape[0], None, x.shape[1], x.shape[1], device="cpu") if mask else None
            call = COMPILED if self.form in ("window", "documents") else flex_attention
            y = call(q, k, v, score_mod=change, block_mask=blocks, **options)
        else:
            y = attended(q, k, v, mask, change, options)
        if "return_aux" in options:
            y, sums = y[0], y[1].lse if self.flexible else y[1]
            y = y * torch.sigmoid(sums).unsqueeze(-1)  # as gates for sinks are
        return x + self.out(y.transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.words, self.layers = nn.Embedding(WORDS, WIDTH), nn.ModuleList(Layer(name) for name in names)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, ids, labels):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, ids)
        return F.cross_entropy(self.head(x).flatten(0, 1), labels.flatten())

    def as_plain(self):
        plain = copy.deepcopy(self)
        for layer in plain.layers:
            layer.flexible = False
        return plain


def inputs():
    random, rows = torch.Generator().manual_seed(3), against_torch.BATCH * against_torch.STEPS
    return {name: torch.randint(0, WORDS, (rows, LENGTH), generator=random) for name in ("ids", "labels")}


def refused():
    """A function that is none of single scores: PyTorch calls it with one, whose mean is the score itself."""
    FORMS["mean_of_scores"] = (None, lambda layer: lambda score, b, h, q, k: score - score.mean(), {})
    batch = {name: cells[:against_torch.BATCH] for name, cells in inputs().items()}
    try:
        dtcc_export.export(Model(["mean_of_scores"]), batch, sys.argv[2])
    except dtcc_export.ExportError as error:
        print(f"refused: {error}")


MODELS = {form: lambda form=form: Model([form]) for form in FORMS} | {"all": lambda: Model(list(FORMS))}

if __name__ == "__main__":
    sys.exit(refused() if sys.argv[1] == "--refused" else against_torch.main(MODELS, inputs(), LENGTH))
