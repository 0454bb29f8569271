# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph networks: messages along edges that the data give, summed up by the nodes that they reach; and bags of embeddings. How it
is called: against_torch.py."""
import sys

import numpy
import torch
from torch import nn

import against_torch

NODES, EDGES, WIDTH = 12, 40, 8


def by_index_add(zeros, ids, rows):
    return zeros.index_add(0, ids, rows)


def by_scatter_add(zeros, ids, rows):
    return zeros.scatter_add(0, ids[:, None].expand(-1, rows.shape[1]), rows)


def by_index_put(zeros, ids, rows):
    return zeros.index_put((ids,), rows, accumulate=True)


def mean(zeros, ids, rows):
    count = torch.zeros_like(zeros[:, 0]).index_add(0, ids, torch.ones_like(rows[:, 0]))
    return zeros.index_add(0, ids, rows) / count.clamp(min=1)[:, None]


def twice(zeros, ids, rows):
    """Gradients through a sum that another one reads."""
    once = zeros.index_add(0, ids, rows)
    return zeros.index_add(0, ids, torch.tanh(once[ids]) * rows)


class Network(nn.Module):
    def __init__(self, combine):
        super().__init__()
        self.combine, self.nodes = combine, nn.Linear(6, WIDTH)
        self.message, self.out = nn.Linear(2 * WIDTH, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x, source, target, y):
        graphs = x.shape[0]
        first = (torch.arange(graphs) * NODES)[:, None]
        source, target = (source + first).reshape(-1), (target + first).reshape(-1)
        nodes = self.nodes(x).reshape(graphs * NODES, WIDTH)
        for _ in range(2):
            messages = torch.relu(self.message(torch.cat([nodes[source], nodes[target]], -1)))
            nodes = nodes + self.combine(torch.zeros_like(nodes), target, messages)
        return ((self.out(nodes).reshape(y.shape) - y) ** 2).mean()


class Written(nn.Module):
    """Rows that are written, not added, to places that the data give; no place twice."""

    def __init__(self):
        super().__init__()
        self.nodes, self.out = nn.Linear(6, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x, source, target, y):
        graphs = x.shape[0]
        nodes = self.nodes(x).reshape(graphs * NODES, WIDTH)
        places = (torch.argsort(x[:, :, 0], 1, descending=True)[:, : NODES // 2]
                  + (torch.arange(graphs) * NODES)[:, None]).reshape(-1)
        rows = torch.tanh(nodes[: graphs * (NODES // 2)])
        return ((self.out(nodes.index_put((places,), rows)).reshape(y.shape) - y) ** 2).mean()


class Masked(nn.Module):
    """Rows or cells that take the places that a mask leaves open, as the features of images do among words."""

    def __init__(self, rows):
        super().__init__()
        self.rows, self.nodes, self.out = rows, nn.Linear(6, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x, source, target, y):
        nodes = self.nodes(x)
        mask = source[:, :NODES, None] > NODES // 2
        if not self.rows:
            mask = mask ^ (torch.arange(WIDTH) % 3 == 0)
        nodes = nodes.masked_scatter(mask, torch.tanh(nodes).flip(1))
        return ((self.out(nodes).reshape(y.shape) - y) ** 2).mean()


class Bags(nn.Module):
    """Embeddings summed up by bag, of rows of words or of words between offsets; words of one kind count nothing."""

    def __init__(self, mode, padding=None, weighted=False, offsets=False):
        super().__init__()
        self.words, self.out = nn.EmbeddingBag(NODES, WIDTH, mode=mode, padding_idx=padding), nn.Linear(WIDTH, NODES)
        self.weights, self.offsets = nn.Parameter(torch.rand(EDGES)) if weighted else None, offsets

    def forward(self, x, source, target, y):
        weights = None if self.weights is None else self.weights.expand(source.shape[0], -1)
        if self.offsets:
            at = torch.arange(source.shape[0]) * EDGES
            bags = self.words(source.reshape(-1), torch.stack([at, at + 7], 1).reshape(-1))
            bags = bags.reshape(-1, 2, WIDTH).sum(1)
        else:
            bags = self.words(source, per_sample_weights=weights)
        return ((self.out(bags) - y[:, :, 0] * x[:, :, 0]) ** 2).mean() + 0.0 * target.sum()


def inputs():
    random, rows = numpy.random.default_rng(5), against_torch.BATCH * against_torch.STEPS
    data = {name: random.standard_normal((rows, NODES, size)).astype(numpy.float32) for name, size in (("x", 6), ("y", 1))}
    edges = {name: random.integers(0, NODES, (rows, EDGES)) for name in ("source", "target")}
    return {"x": data["x"], **edges, "y": data["y"]}


MODELS = {form.__name__: lambda form=form: Network(form) for form in (by_index_add, by_scatter_add, by_index_put, mean, twice)}
MODELS |= {"written": Written, "masked_rows": lambda: Masked(True), "masked_cells": lambda: Masked(False)}
MODELS |= {"bags": lambda: Bags("mean", padding=3), "weighted_bags": lambda: Bags("sum", weighted=True),
           "greatest_of_bags": lambda: Bags("max"), "greatest_of_words": lambda: Bags("max", padding=3), "bags_between_offsets": lambda: Bags("mean", padding=3, offsets=True)}

if __name__ == "__main__":
    sys.exit(against_torch.main(MODELS, inputs(), EDGES))
