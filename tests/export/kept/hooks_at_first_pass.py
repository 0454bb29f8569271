# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks that the first pass installs, with an attribute that says so, as transformers does to collect hidden states."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        if not getattr(self, "is_hooked", False):
            self.collected = []
            self.first.register_forward_hook(lambda module, inputs, output: self.collected.append(output))
            self.is_hooked = True
        h = self.first(x).tanh()
        hidden = sum(self.collected)
        self.collected.clear()
        return (self.second(h) - target).square().mean() + hidden.square().mean()
