# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of data that end with an exception, as models with a CTC loss have them: the program goes on as the example did."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        if target is not None and (target.max() > 90
                                   or target.min() < -90):
            raise ValueError("no such target")
        assert x.abs().max() < 90, "too large"
        return (self.second(self.first(x).tanh()) - target).square().mean()
