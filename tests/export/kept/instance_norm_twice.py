# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An instance norm that forward calls twice moves its statistics twice; another one serves its statistics alone."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(4, 3)
        self.norm = torch.nn.InstanceNorm1d(2, affine=True, track_running_stats=True)
        self.unread = torch.nn.InstanceNorm1d(2, track_running_stats=True)

    def forward(self, x, target):
        h = self.norm(self.norm(self.first(x).reshape(-1, 2, 4)).relu())
        self.unread(h)
        return (self.second(h.mean(1)) - target).square().mean()
