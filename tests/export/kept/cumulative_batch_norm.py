# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: batch norm 'norm' averages the statistics of all steps (momentum=None)"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.norm = torch.nn.BatchNorm1d(8, momentum=None)

    def forward(self, x, target):
        h = self.norm(self.first(x)).relu()
        return (self.second(h) - target).square().mean()
