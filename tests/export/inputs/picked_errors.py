# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Uses of the rows that a mask picks which the export refuses, each with what it says: picked_errors.py FOLDER"""
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

import dtcc_export


class Model(nn.Module):
    def __init__(self, use):
        super().__init__()
        self.use, self.layer, self.norm = use, nn.Linear(3, 4), nn.BatchNorm1d(4)

    def forward(self, x, labels):
        return self.use(self, self.layer(x), labels)


def counted(net, h, labels):
    return h[labels > 0].square().sum() / len(h[labels > 0])


def normalized(net, h, labels):
    return net.norm(h[labels > 0]).square().mean()


def looped(net, h, labels):
    return sum(row.square().sum() for row in h[labels > 0])


def compared(net, h, labels):
    rows = h[labels > 0]
    return (rows @ rows.T).mean()


def by_two(net, h, labels):
    return (h[labels > 0] * h[labels > 1]).mean()


def spread(net, h, labels):
    return h[labels > 0].std(0).mean()


def chosen(net, h, labels):
    return h[labels > 0].mean() if (labels > 0).any() else h.mean()


def last(net, h, labels):
    return h[labels > 0][-1].mean()


def in_place(net, h, labels):
    rows = h[labels > 0]
    rows.clamp_(min=0)
    return rows.mean()


def as_weight(net, h, labels):
    return F.linear(h[:, 0], h[labels > 0]).square().mean()


def parted(net, h, labels):
    return h[labels > 0].view(2, -1).square().mean()


def uneven(net, h, labels):
    return h[labels > 1].reshape(h.shape[0], -1, h.shape[2]).square().mean()


def of_none(net, h, labels):
    return h[labels > 4].view(labels.shape[0], 0, 4).sum()


def paired(net, h, labels):
    return h[labels > 0].view(-1, 2, 4).prod(1).mean()


def uneven_ids(net, h, labels):
    return F.cross_entropy(h[:, 0], labels[labels != 2].unflatten(0, (h.shape[0], -1)).amin(1))


# The first sample has the label 1 alone, the second has none of it.
labels = torch.tensor([[1] * 5, [3] * 5, [1, 2, 3, 2, 1], [3, 2, 1, 2, 3]])
for use in (counted, normalized, looped, compared, by_two, spread, chosen, last, in_place, as_weight, parted, uneven, of_none, paired,
            uneven_ids):
    try:
        dtcc_export.export(Model(use), {"x": torch.rand(4, 5, 3), "labels": labels},
                           os.path.join(sys.argv[1], "model.onnx"))
        print(f"{use.__name__}: exported")
    except dtcc_export.ExportError as error:
        print(f"{use.__name__}: {error}")
