# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hard choice forward and a soft one backward."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        scores = self.first(x)
        soft = scores.softmax(-1)
        hard = torch.nn.functional.one_hot(scores.argmax(-1), 8).to(soft.dtype)
        h = hard - soft.detach() + soft
        return (self.second(h) - target).square().mean()
