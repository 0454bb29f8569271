# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A head that forward computes and the loss leaves out: its batch norm still moves its statistics."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = torch.nn.Linear(6, 8, bias=False), torch.nn.Linear(8, 3), torch.nn.BatchNorm1d(8)
        self.aside, self.further = torch.nn.BatchNorm1d(8, momentum=0.3), torch.nn.BatchNorm1d(8)

    def forward(self, x, target):
        h = self.norm(self.first(x)).relu()
        self.further(self.aside(h) * 2).mean()
        return (self.second(h) - target).square().mean()
