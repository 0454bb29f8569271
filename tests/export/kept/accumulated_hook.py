# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: parameter 'first.weight' has a hook on its accumulated gradient, which cannot be exported; remove it"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.first.weight.register_post_accumulate_grad_hook(lambda parameter: parameter.grad.mul_(0.5))

    def forward(self, x, target):
        h = self.first(x).tanh()
        return (self.second(h) - target).square().mean()
