# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: forward draws numbers from Python's random"""
import random

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        h = self.first(x)
        if random.random() < 0.9:  # most runs of a trace take one branch
            h = h.tanh()
        return (self.second(h) - target).square().mean()
