# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A weight as direction and length."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.first = torch.nn.utils.parametrizations.weight_norm(self.first)

    def forward(self, x, target):
        h = self.first(x).tanh()
        return (self.second(h) - target).square().mean()
