# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: an embedding with max_norm changes its weight in forward (h = self.words((x > 0).long())), which cannot be exported"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.second = torch.nn.Embedding(2, 8, max_norm=0.5), torch.nn.Linear(48, 3)

    def forward(self, x, target):
        h = self.words((x > 0).long())
        return (self.second(h.flatten(1)) - target).square().mean()
