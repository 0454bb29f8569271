# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A backward hook of a module that only looks is no obstacle."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.first.register_full_backward_hook(lambda *_: None)

    def forward(self, x, target):
        h = self.first(x).tanh()
        return (self.second(h) - target).square().mean()
