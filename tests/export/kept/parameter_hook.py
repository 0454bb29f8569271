# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hook masks the gradient of a weight."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        mask = torch.tensor([1.0, 0.0] * 4)[:, None]
        self.first.weight.register_hook(lambda gradient: gradient * mask.to(gradient.dtype))

    def forward(self, x, target):
        h = self.first(x).tanh()
        return (self.second(h) - target).square().mean()
