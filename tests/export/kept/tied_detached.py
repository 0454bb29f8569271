# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One of two uses of a tied weight is detached."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        h = self.first(x).tanh()
        back = torch.nn.functional.linear(h, self.first.weight.t().detach())
        return (self.second(h) - target).square().mean() + (back - x).square().mean()
