# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: forward changes 'last', and a trace keeps what it held"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.last = torch.zeros(4, 6)

    def forward(self, x, target):
        h = self.first(x - self.last).tanh()
        self.last = x.detach()  # stays the same over passes of one batch
        return (self.second(h) - target).square().mean()
