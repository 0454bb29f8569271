# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two views, each against the other's detached projection."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        a, b = self.first(x), self.first(x.flip(1))
        p, q = self.second(a), self.second(b)
        z, y = p.detach(), q.detach()
        similar = torch.nn.functional.cosine_similarity
        return -(similar(p.tanh(), y, dim=-1).mean() + similar(q.tanh(), z, dim=-1).mean()) / 2 + (p - target).square().mean()
