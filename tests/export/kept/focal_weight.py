# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The focal weight of each example is a constant to the gradient."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        logits = self.second(self.first(x).relu())
        losses = torch.nn.functional.binary_cross_entropy_with_logits(logits, (target > 0).to(logits.dtype), reduction="none")
        return ((1 - torch.exp(-losses)).detach() ** 2 * losses).mean()
