# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dropout in evaluation mode does nothing."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.drop = torch.nn.Dropout(0.5).eval()

    def forward(self, x, target):
        h = self.drop(self.first(x).relu())
        return (self.second(h) - target).square().mean()
