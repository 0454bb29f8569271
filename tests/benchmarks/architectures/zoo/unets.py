# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""U-shaped networks: down, up again, and joined along the way."""
import torch
import torch.nn.functional as F
from torch import nn

from .registry import add


class Unet(nn.Module):
    """Group norms, and a way down and up again."""

    def __init__(self, up):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.down, self.up, self.last = nn.Conv2d(8, 16, 3, 2, 1), up, nn.Conv2d(16, 10, 1)

    def forward(self, x):
        fine = F.silu(self.norm(self.first(x)))
        return self.last(torch.cat([fine, self.up(F.silu(self.down(fine)))], 1)).mean((2, 3))


add(__name__, "image", "unet", lambda: Unet(nn.ConvTranspose2d(16, 8, 2, 2)))
add(__name__, "image", "unet_overlap", lambda: Unet(nn.ConvTranspose2d(16, 8, 4, 2, 1)))
add(__name__, "image", "unet_nearest", lambda: Unet(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(16, 8, 3, padding=1))))
add(__name__, "image", "unet_bilinear", lambda: Unet(nn.Sequential(
    nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(16, 8, 3, padding=1))))
