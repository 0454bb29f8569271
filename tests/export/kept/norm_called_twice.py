# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A batch norm that forward calls twice moves its statistics twice."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.first = torch.nn.Linear(6, 8, bias=False)
        self.norm = torch.nn.BatchNorm1d(8)

    def forward(self, x, target):
        h = self.norm(self.norm(self.first(x)).relu())
        return (self.second(h) - target).square().mean()
