# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: parameter 'teacher.weight' is changed in forward"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.teacher = torch.nn.Linear(6, 8)
        self.teacher.requires_grad_(False)

    def forward(self, x, target):
        with torch.no_grad():
            for slow, fast in zip(self.teacher.parameters(), self.first.parameters()):
                slow.data.mul_(0.9).add_(fast.data, alpha=0.1)
            goal = self.teacher(x).tanh()
        h = self.first(x).tanh()
        return (h - goal).square().mean() + (self.second(h) - target).square().mean()
