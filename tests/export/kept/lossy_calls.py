# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of which PyTorch's exporter drops a part: means by scatter_reduce, average pools with a divisor of their own, and
cross entropy with probabilities as targets, weighted and smoothed."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 16), torch.nn.Linear(16, 3)

    def forward(self, x, target):
        h = self.first(x)
        places = torch.tensor([[0, 0, 0, 1, 1, 5, 6, 15]]).expand(h.shape[0], -1)
        h = h.scatter_reduce(1, places, torch.tanh(h[:, :8]), "mean", include_self=False)
        h = torch.scatter_reduce(h, 1, places + 0, h[:, :8] * h[:, 8:], "mean")
        h = h + F.avg_pool2d(h.reshape(-1, 1, 4, 4), 3, 1, 1, divisor_override=5).flatten(1)
        h = h + F.avg_pool3d(h.reshape(-1, 1, 2, 2, 4), (1, 1, 2), divisor_override=3).flatten(1).repeat(1, 2)
        scores, wanted = self.second(h), target.softmax(1)
        weights = torch.tensor([1.0, 2.0, 0.5], dtype=scores.dtype)
        return F.cross_entropy(scores, wanted) + F.cross_entropy(scores, wanted, weights, label_smoothing=0.1) + \
            F.cross_entropy(scores, wanted, reduction="none").square().mean()
