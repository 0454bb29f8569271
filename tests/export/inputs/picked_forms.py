# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses of the rows that a mask picks, as people write them, each trained as PyTorch trains it.

    picked_forms.py FOLDER [--plans PLAN ..] [--only NAME ..]
"""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch

LENGTH, WIDTH, CLASSES = 6, 8, 5
IGNORED = -100


class Network(nn.Module):
    """`form` gives the loss of what the layers make of x (batch, LENGTH, 4), labels, of which some are IGNORED, and y, where
    some are not a number."""

    def __init__(self, form):
        super().__init__()
        self.form, self.body, self.head = form, nn.Linear(4, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.norm, self.table, self.one = nn.LayerNorm(WIDTH), nn.Embedding(CLASSES, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x, labels, y):
        # Everything is read by every form.
        unread = 0.0 * (sum(p.sum() for p in self.parameters()) + torch.nan_to_num(y).sum() + labels.sum())
        return self.form(self, torch.tanh(self.body(x)), labels, y) + unread


def words(net, h, labels, y):
    keep = labels != IGNORED
    return F.cross_entropy(net.head(h)[keep], labels[keep])


def masks_alike(net, h, labels, y):
    z = net.head(h).view(-1, CLASSES)
    return F.cross_entropy(z[labels.view(-1) != IGNORED], labels.view(-1)[labels.view(-1) != IGNORED], label_smoothing=0.1,
                           weight=torch.arange(1.0, CLASSES + 1, dtype=h.dtype))


def places(net, h, labels, y):
    at = (labels.view(-1) != IGNORED).nonzero().squeeze(1)
    return F.nll_loss(F.log_softmax(net.head(h).view(-1, CLASSES)[at], dim=-1), labels.view(-1).index_select(0, at))


def coordinates(net, h, labels, y):
    sample, step = torch.where(labels != IGNORED)
    return F.cross_entropy(net.head(h[sample, step]), labels[sample, step], reduction="sum") / sample.shape[0]


def head_of_picked(net, h, labels, y):
    keep = labels.ge(0)
    rows = net.norm(F.gelu(h[keep]) * 2 + 1)
    return nn.CrossEntropyLoss()(net.head(F.dropout(rows, 0.0)), labels[keep])


def depth(net, h, labels, y):
    """The scale-invariant logarithmic error of depth maps, whose holes are 0."""
    depths, guess = torch.nan_to_num(y).abs(), F.softplus(net.one(h).squeeze(-1))
    valid = depths > 0
    off = torch.log(guess[valid]) - torch.log(depths[valid])
    return torch.sqrt((off ** 2).mean() - 0.5 * off.mean() ** 2)


def missing(net, h, labels, y):
    there = ~torch.isnan(y)
    return F.mse_loss(net.one(h).squeeze(-1)[there], y[there])


def absolute(net, h, labels, y):
    there = ~torch.isnan(y)
    return (net.one(h)[there].squeeze(-1) - y[there]).abs().sum() / there.sum().clamp(min=1)


def distances(net, h, labels, y):
    keep = labels >= 0
    return (h[keep] - net.table(labels[keep])).pow(2).sum(-1).sqrt().mean()


def similar(net, h, labels, y):
    keep = labels >= 0
    return 1 - F.cosine_similarity(h[keep], net.table.weight[labels[keep]], dim=-1).mean()


def of_cells(net, h, labels, y):
    losses = F.cross_entropy(net.head(h).transpose(1, 2), labels.clamp(min=0), reduction="none")
    return losses[labels >= 0].mean() + torch.masked_select(h, (labels >= 0).unsqueeze(-1)).square().mean()


def answers(net, h, labels, y):
    keep = labels >= 0
    return F.binary_cross_entropy_with_logits(net.one(h)[keep].flatten(1)[:, 0], (labels[keep] > 2).to(h.dtype))


def prototype(net, h, labels, y):
    mean = h[labels == 1].mean(0)
    return (h - mean).square().mean() + h[labels >= 2].amax() + h[labels >= 2].reshape(-1, WIDTH).sum(dim=0).square().mean()


def soft(net, h, labels, y):
    keep = labels >= 0
    target = F.one_hot(labels[keep], CLASSES).to(h.dtype) * 0.8 + 0.2 / CLASSES
    return F.cross_entropy(net.head(h)[keep], target) + F.kl_div(F.log_softmax(net.head(h)[keep], -1), target, reduction="batchmean")


def balanced(net, h, labels, y):
    """Classes weigh the less, the more labels there are of them."""
    keep = labels >= 0
    counts = torch.bincount(labels.clamp(min=0).view(-1), minlength=CLASSES) + 1
    return F.cross_entropy(net.head(h)[keep], labels[keep], weight=1 / counts.to(h.dtype))


def aligned(net, h, labels, y):
    """ctc_loss of the labels of all samples in a vector, as Wav2Vec2 takes it."""
    keep = labels >= 0
    steps = net.head(torch.cat([h, h * 0.5, h.flip(1)], 1)).log_softmax(-1).transpose(0, 1)
    lengths = torch.full((h.shape[0],), steps.shape[0])
    return F.ctc_loss(steps, labels.clamp(max=CLASSES - 2).masked_select(keep), lengths, keep.sum(-1), blank=CLASSES - 1, zero_infinity=True)


MODELS = {form.__name__: lambda form=form: Network(form) for form in (
    words, masks_alike, places, coordinates, head_of_picked, depth, missing, absolute, distances, similar, of_cells, answers,
    prototype, soft, balanced, aligned)}


def inputs():
    random, rows = numpy.random.default_rng(5), against_torch.BATCH * against_torch.STEPS
    labels, y = random.integers(0, CLASSES, (rows, LENGTH)), random.standard_normal((rows, LENGTH)).astype(numpy.float32)
    # At the first three of a sample's cells there is something: no rank and no micro-batch is without.
    labels[:, 3:][random.random((rows, LENGTH - 3)) < 0.6] = IGNORED
    y[:, 3:][random.random((rows, LENGTH - 3)) < 0.6] = numpy.nan
    labels[:, :3] = numpy.arange(3)
    return {"x": random.standard_normal((rows, LENGTH, 4)).astype(numpy.float32), "labels": labels, "y": y}


if __name__ == "__main__":
    sys.exit(against_torch.main(MODELS, inputs(), length=LENGTH))
