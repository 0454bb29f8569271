# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask picks, the same number in each sample, put back into a batch as masked autoencoders do. Each form is trained as
PyTorch trains it.

    sample_forms.py FOLDER [--plans PLAN ..] [--only NAME ..]
"""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch

LENGTH, WIDTH, CELLS, WORDS, SEEN = 6, 8, 5, 20, 4


class Network(nn.Module):
    """`form` gives the loss of what the layers make of x (batch, LENGTH, 4), of which `hidden` leaves SEEN in each sample, of ids and
    of y, which is not a number where a row is seen."""

    def __init__(self, form):
        super().__init__()
        self.form, self.body, self.head = form, nn.Linear(4, WIDTH), nn.Linear(WIDTH, CELLS)
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.randn(1, LENGTH, WIDTH))

    def forward(self, x, hidden, ids, y):
        # Everything is read by every form.
        unread = 0.0 * (sum(p.sum() for p in self.parameters()) + torch.nan_to_num(y).sum() + ids.sum() + hidden.sum())
        return self.form(self, torch.tanh(self.body(x)), hidden, ids, y) + unread


def attend(x):
    x = x[:, None]
    return (x + F.scaled_dot_product_attention(x, x, x))[:, 0]


def autoencoder(net, h, hidden, ids, y):
    """Encodes the rows that are seen and predicts y of the hidden ones, as VideoMAE does."""
    batch, _, width = h.shape
    seen = attend((h + net.places)[~hidden].reshape(batch, -1, width))
    places = net.places.expand(batch, -1, -1)
    seen = seen + places[~hidden].reshape(batch, -1, width)
    out = attend(torch.cat([seen, places[hidden].reshape(batch, -1, width)], dim=1))
    with torch.no_grad():
        wanted = y[hidden].reshape(batch, -1, CELLS)
    return F.mse_loss(net.head(out[:, -wanted.shape[1]:]), wanted)


def numbered(net, h, hidden, ids, y):
    """Sizes that are numbers, and the batch left open."""
    seen = h[~hidden].view(-1, SEEN, WIDTH)
    return F.mse_loss(net.head(seen[:, 1:]), net.head(seen[:, :-1])) + attend(h[~hidden].unflatten(0, (-1, SEEN))).square().mean()


def of_rows(net, h, hidden, ids, y):
    """Layers of the picked rows first."""
    rows = net.head(F.gelu(h[~hidden, :]))
    return rows.unflatten(0, (h.shape[0], -1)).amax(1).square().mean() + torch.sigmoid(rows).reshape(h.shape[0], -1).prod(1).mean()


def words(net, h, hidden, ids, y):
    """Nothing but ids is picked, and flags of them."""
    kept = ids[~hidden].view(h.shape[0], SEEN)
    return F.mse_loss(attend(net.words(kept)), h[:, :SEEN]) + (net.words(kept).sum(-1) * (ids > 3)[~hidden].view(h.shape[0], -1)).mean()


def cells(net, h, hidden, ids, y):
    """A mask that is as large as what it picks from, by its values and expanded."""
    picked = torch.masked_select(h, ~hidden.unsqueeze(-1)).view(h.shape[0], -1, WIDTH)
    return attend(picked).square().mean() + h[(~hidden)[..., None].expand_as(h)].reshape(h.shape[0], -1).sum(1).square().mean()


def flattened(net, h, hidden, ids, y):
    """Samples joined to one list before the mask picks."""
    rows = h.flatten(0, 1)[~hidden.flatten()].reshape(h.shape[0], -1, WIDTH)
    return F.mse_loss(net.head(attend(rows)), net.head(h)[torch.where(~hidden)].reshape(h.shape[0], -1, CELLS).flip(1))


def both(net, h, hidden, ids, y):
    """Some of the rows in samples, and a mean over rows of another number in each."""
    return attend(h[~hidden].reshape(h.shape[0], -1, WIDTH)).square().mean() + h[ids > 5].square().mean()


MODELS = {form.__name__: lambda form=form: Network(form) for form in (autoencoder, numbered, of_rows, words, cells, flattened, both)}


def inputs():
    random, rows = numpy.random.default_rng(5), against_torch.BATCH * against_torch.STEPS
    hidden = random.permuted(numpy.tile(numpy.arange(LENGTH) >= SEEN, (rows, 1)), axis=1)
    y = random.standard_normal((rows, LENGTH, CELLS)).astype(numpy.float32)
    y[~hidden] = numpy.nan
    return {"x": random.standard_normal((rows, LENGTH, 4)).astype(numpy.float32), "hidden": hidden,
            "ids": random.integers(0, WORDS, (rows, LENGTH)), "y": y}


if __name__ == "__main__":
    sys.exit(against_torch.main(MODELS, inputs(), length=LENGTH))
