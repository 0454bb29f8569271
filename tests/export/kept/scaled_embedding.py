# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: an embedding with scale_grad_by_freq does not export; leave it out"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = torch.nn.Embedding(4, 8, scale_grad_by_freq=True), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        return (self.out(self.words((x > 0).long()).mean(1)) - target).square().mean()
