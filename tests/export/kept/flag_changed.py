# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: forward branches on 'ready', which it changes, and a trace holds one branch: choose by torch.where"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.register_buffer("ready", torch.tensor([True]))

    def forward(self, x, target):
        h = self.first(x)
        if self.ready:
            h = h.tanh()
        self.ready.fill_(False)
        return (self.second(h) - target).square().mean()
