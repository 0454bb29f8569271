# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A weight is used beside its transpose, and again as it is: its gradient is a sum of one matrix, that matrix and its transpose."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.weight = torch.nn.Parameter(0.3 * torch.randn(8, 8))
        self.other = torch.nn.Parameter(0.3 * torch.randn(8, 8))

    def forward(self, x, target):
        h = torch.tanh(self.first(x) @ (self.weight + self.weight.T))
        h = h @ (self.other + self.other.T + self.other + self.other.flip(0))
        return (self.second(h) - target).square().mean()
