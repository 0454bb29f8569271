# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A preference loss against a frozen reference (DPO)."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.reference = torch.nn.Linear(6, 3)

    def forward(self, x, target):
        logits, reference = self.second(self.first(x).tanh()), self.reference(x).detach()
        chosen, other = (logits - reference)[:, 0], (logits - reference)[:, 1]
        return -torch.nn.functional.logsigmoid(0.5 * (chosen - other)).mean() + (logits - target).square().mean()
