# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: forward branches on what a tensor holds, which no trace knows (if not target.max() > 90 and x.max() > -90:)"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        if not target.max() > 90 and x.max() > -90:
            x = x * 2
        return (self.second(self.first(x).tanh()) - target).square().mean()
