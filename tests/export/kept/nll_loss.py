# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nll_loss of log_softmax, with weights of classes and a class that is not counted: a sum and a count for every micro-batch."""
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(6, 12)
        self.register_buffer("weight", torch.linspace(0.5, 1.5, 4))

    def forward(self, x, target):
        logs, labels = F.log_softmax(self.first(x).reshape(-1, 4, 3), 1), (target > 0).long() + (target > 1).long()
        return F.nll_loss(logs, labels, self.weight, ignore_index=0)
