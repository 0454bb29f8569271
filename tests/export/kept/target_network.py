# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A target from a frozen copy of the network."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.frozen = torch.nn.Linear(6, 8)
        self.frozen.requires_grad_(False)

    def forward(self, x, target):
        with torch.no_grad():
            goal = self.frozen(x).tanh()
        h = self.first(x).tanh()
        return (h - goal).square().mean() + (self.second(h) - target).square().mean()
