# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instance norms of instance_norm.py on two halves of the batch one after the other, as on two micro-batches."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.norm = torch.nn.InstanceNorm1d(8, affine=True, track_running_stats=True)
        self.plain = torch.nn.InstanceNorm2d(8, momentum=0.3, eps=1e-3, track_running_stats=True)

    def half(self, x, target):
        h = self.norm(self.first(x)[:, :, None].repeat(1, 1, 3) * torch.arange(1.0, 4.0).to(x.dtype))
        h = (h[..., None] * torch.tensor([0.5, 2.0]).to(x.dtype) + 0.2).tanh()
        h = self.plain(h).relu().mean((2, 3)) + self.first(x)
        return (self.second(h) - target).square().mean()

    def forward(self, x, target):
        return (self.half(x[:2], target[:2]) + self.half(x[2:], target[2:])) / 2
