# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: forward changes 'steps', and a trace keeps what it held"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.steps = 0

    def forward(self, x, target):
        self.steps += 1
        h = self.first(x).tanh() * min(1.0, self.steps / 4)
        return (self.second(h) - target).square().mean()
