# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: a tensor that a gradient passes is changed in place where gradients are off"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        h = self.first(x)
        with torch.no_grad():
            h.clamp_(-1, 1)
        return (self.second(h) - target).square().mean()
