# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An online network against a target that is its detached copy of weights."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.register_buffer("slow_weight", self.first.weight.detach().clone() + 0.1)
        self.register_buffer("slow_bias", self.first.bias.detach().clone())

    def forward(self, x, target):
        online = self.first(x)
        with torch.no_grad():
            for slow, fast in ((self.slow_weight, self.first.weight), (self.slow_bias, self.first.bias)):
                slow.mul_(0.99).add_(fast, alpha=0.01)
            goal = torch.nn.functional.linear(x.flip(1), self.slow_weight, self.slow_bias)
        similar = torch.nn.functional.cosine_similarity(online, goal, dim=-1)
        return (2 - 2 * similar).mean() + (self.second(online) - target).square().mean()
