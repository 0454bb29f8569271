# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: forward changes 'centre', and a trace keeps what it held"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.centre = torch.zeros(8)

    def forward(self, x, target):
        h = self.first(x).tanh()
        with torch.no_grad():
            self.centre.mul_(0.9).add_(h.mean(0), alpha=0.1)
        return (self.second(h - self.centre) - target).square().mean()
