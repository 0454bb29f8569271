# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Negatives from a queue of earlier keys (MoCo)."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.register_buffer("queue", torch.nn.functional.normalize(torch.randn(12, 8), dim=-1))

    def forward(self, x, target):
        q = torch.nn.functional.normalize(self.first(x), dim=-1)
        with torch.no_grad():
            k = torch.nn.functional.normalize(self.first(x.flip(1)), dim=-1)
        near = (q * k).sum(-1, keepdim=True)
        logits = torch.cat([near, q @ self.queue.clone().t()], -1) / 0.2
        with torch.no_grad():
            self.queue.copy_(torch.cat([k, self.queue[: -k.shape[0]]]))
        return -logits.log_softmax(-1)[:, 0].mean() + (self.second(q) - target).square().mean()
