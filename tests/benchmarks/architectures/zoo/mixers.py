# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixers of patches and channels."""
import torch.nn.functional as F
from torch import nn

from .registry import add


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 24, 8, 8), nn.LayerNorm(24)
        self.places, self.channels, self.head = nn.Linear(16, 16), nn.Linear(24, 24), nn.Linear(24, 10)

    def forward(self, x):
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = y + F.gelu(self.places(self.norm(y).transpose(1, 2))).transpose(1, 2)
        return self.head((y + F.gelu(self.channels(y))).mean(1))


add(__name__, "image", "mixer", Mixer)
