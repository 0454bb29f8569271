# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: parameter 'first.weight' is changed in forward"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        with torch.no_grad():
            self.first.weight.mul_((1 / self.first.weight.norm()).clamp(max=1.0))
        h = self.first(x).tanh()
        return (self.second(h) - target).square().mean()
