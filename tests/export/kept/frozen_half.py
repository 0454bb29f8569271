# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of one weight that are frozen by detaching a part of it."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        weight = torch.cat([self.first.weight[:4].detach(), self.first.weight[4:]])
        h = torch.nn.functional.linear(x, weight, self.first.bias).tanh()
        return (self.second(h) - target).square().mean()
