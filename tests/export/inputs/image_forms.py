# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images whose dimensions have many factors: norms by groups, joins of channels, sizes that are halved again and again,
patches. How it is called: against_torch.py."""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch

SIZE = 16


class UnetBlock(nn.Module):
    """A convolution between norms of 8 groups over 16 and over 32 channels, these a join (as in diffusion models)."""

    def __init__(self):
        super().__init__()
        self.first, self.down = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, stride=2, padding=1)
        self.norm, self.conv = nn.GroupNorm(8, 16), nn.Conv2d(16, 16, 3, padding=1)
        self.up, self.joined = nn.ConvTranspose2d(16, 16, 2, stride=2), nn.GroupNorm(8, 32)
        self.last = nn.Conv2d(32, 3, 3, padding=1)

    def forward(self, x):
        h = self.first(x)
        deep = self.up(F.silu(self.down(self.conv(F.silu(self.norm(h))))))
        return self.last(F.silu(self.joined(torch.cat([deep, h], 1))))


class DenseBlocks(nn.Module):
    """DenseNet: channels are joined, sizes halved by averages; 16 becomes 2 x 2 x 2 x 2."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        width, self.blocks, self.halve = 8, nn.ModuleList(), nn.ModuleList()
        for _ in range(3):
            block = nn.ModuleList()
            for _ in range(3):
                block.append(nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, 8, 3, padding=1)))
                width += 8
            self.blocks.append(block)
            self.halve.append(nn.Sequential(nn.Conv2d(width, width // 2, 1), nn.AvgPool2d(2)))
            width //= 2
        self.last = nn.Linear(width, 3 * SIZE * SIZE)

    def forward(self, x):
        h = self.first(x)
        for block, halve in zip(self.blocks, self.halve):
            for layer in block:
                h = torch.cat([h, layer(h)], 1)
            h = halve(h)
        return self.last(h.mean((2, 3))).reshape(x.shape)


class Patches(nn.Module):
    """Patches of patches, each mixed within its groups, and the way back."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Conv2d(12, 24, 2, stride=2), nn.Conv2d(24, 24, 3, stride=2, padding=1, groups=24)
        self.norm, self.mix, self.last = nn.GroupNorm(4, 24), nn.Conv2d(24, 192, 1, groups=4), nn.Conv2d(3, 3, 1)

    def forward(self, x):
        h = self.outer(self.norm(self.inner(F.pixel_unshuffle(x, 2))))
        return self.last(F.pixel_shuffle(self.mix(h), 8))


class Pyramid(nn.Module):
    """Windows within windows, in an order of dimensions that no two are neighbours of: 11 of them."""

    def __init__(self):
        super().__init__()
        self.mix, self.last = nn.Linear(16, 16), nn.Conv2d(3, 3, 1)

    def forward(self, x):
        parts = x.reshape(-1, 3, 2, 2, 2, 2, 2, 2, 2, 2).permute(0, 1, 2, 6, 4, 8, 3, 7, 5, 9)
        h = self.mix(parts.reshape(-1, 3, 16, 16)).transpose(2, 3).reshape(parts.shape)
        return self.last(h.permute(0, 1, 8, 2, 6, 4, 9, 3, 7, 5).reshape(x.shape))


class CutOff(nn.Module):
    """Transposed convolutions whose pads cut off more than the kernel reaches: cells of the image are not read."""

    def __init__(self):
        super().__init__()
        self.wide = nn.ConvTranspose2d(3, 6, (1, 2), stride=(2, 3), padding=(3, 4), output_padding=(1, 2))
        self.plain, self.last = nn.ConvTranspose2d(6, 3, 1, padding=2, groups=3), nn.Linear(SIZE * SIZE, SIZE * SIZE)

    def forward(self, x):
        h = self.plain(torch.tanh(self.wide(x)))
        return self.last(F.adaptive_avg_pool2d(h[..., :16, :32], SIZE).flatten(2)).reshape(x.shape)


class Model(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, target):
        return ((self.inner(x) - target) ** 2).mean()


def inputs():
    random = numpy.random.default_rng(4)
    shape = (against_torch.BATCH * against_torch.STEPS, 3, SIZE, SIZE)
    return {name: random.standard_normal(shape).astype(numpy.float32) for name in ("x", "target")}


MODELS = {"unet": lambda: Model(UnetBlock()), "dense": lambda: Model(DenseBlocks()),
          "patches": lambda: Model(Patches()), "pyramid": lambda: Model(Pyramid()),
          "cut_off": lambda: Model(CutOff())}

if __name__ == "__main__":
    sys.exit(against_torch.main(MODELS, inputs()))
