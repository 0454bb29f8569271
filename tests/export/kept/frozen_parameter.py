# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A parameter without gradient between two that train."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.middle = torch.nn.Linear(8, 8)
        self.middle.requires_grad_(False)

    def forward(self, x, target):
        h = self.second(self.middle(self.first(x).tanh()))
        return (h - target).square().mean()
