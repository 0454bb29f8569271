# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running statistics that forward reads before the norm moves them."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8, bias=False), torch.nn.Linear(8, 3)
        self.norm = torch.nn.BatchNorm1d(8)

    def forward(self, x, target):
        spread = self.norm.running_var.sqrt()
        return (self.second(self.norm(self.first(x)) * spread) - target).square().mean()
