# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A buffer that forward writes and never reads."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.register_buffer("last", torch.zeros(8))

    def forward(self, x, target):
        h = self.first(x).tanh()
        self.last.copy_(h.detach().mean(0))
        return (self.second(h) - target).square().mean()
