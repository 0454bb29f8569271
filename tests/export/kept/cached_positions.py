# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A cache that the first pass fills, and what the last pass leaves to look at."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.cache, seen = {}, None

    def forward(self, x, target):
        width = x.shape[1]
        if width not in self.cache:
            self.cache[width] = torch.arange(width) / width
        h = self.first(x + self.cache[width]).tanh()
        self.seen = width
        return (self.second(h) - target).square().mean()
