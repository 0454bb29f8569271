# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports small networks of images with what larger ones are made of, and says what they lose before the first step:

    image_networks.py FOLDER

FOLDER gets NAME.onnx for each, data/x.npy and data/y.npy with 16 samples, and losses.json: the loss of each network over the
first four samples, in double precision. tests/e2e/Inputs/images is a copy of such a folder.
"""
import json
import os
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional as F

import dtcc_export

ROWS, SAMPLES = 4, 16


class Segmenter(nn.Module):
    """Depthwise and grouped convolutions, a transposed one, group and batch norms, skips that are joined, padding."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16)
        self.depthwise, self.pointwise = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 32, 1)
        self.batch, self.up = nn.BatchNorm2d(32), nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.grouped, self.last = nn.Conv2d(32, 16, 3, padding=1, groups=2), nn.Conv2d(16, 5, 1)

    def forward(self, x, y):
        wide = self.depthwise(F.silu(self.norm(self.first(x))))
        deep = F.relu(self.batch(self.pointwise(F.max_pool2d(wide, 2))))
        both = torch.cat([self.up(deep), wide], 1)
        both = F.gelu(self.grouped(F.pad(both, (1, 0, 0, 1)))[:, :, :-1, 1:])
        return F.cross_entropy(self.last(both), y)


class Resampler(nn.Module):
    """Strides, averages, interpolation, a norm over channels, and channels that are flattened with the cells."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Conv2d(8, 12, 5, padding=2)
        self.third, self.batch = nn.Conv2d(20, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.norm, self.last = nn.LayerNorm(8), nn.Linear(8 * 4 * 4, 10)

    def forward(self, x, y):
        wide = F.relu(self.first(x))
        deep = F.avg_pool2d(self.second(wide), 2)
        up = F.interpolate(deep, scale_factor=2, mode="nearest")
        up = up + F.interpolate(deep, scale_factor=2, mode="bilinear", align_corners=False)
        both = self.batch(self.third(torch.cat([up, wide], 1)))
        both = self.norm(both.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return F.cross_entropy(self.last(F.adaptive_avg_pool2d(both, 4).flatten(1)), y[:, 0, 0])


class Next(nn.Module):
    """A block of ConvNeXt, whose products are over channels last, and one that weighs channels by their means."""

    def __init__(self):
        super().__init__()
        self.patches, self.depthwise = nn.Conv2d(3, 24, 2, stride=2), nn.Conv2d(24, 24, 7, padding=3, groups=24)
        self.norm, self.up, self.down = nn.LayerNorm(24), nn.Linear(24, 96), nn.Linear(96, 24)
        self.scale, self.last = nn.Parameter(torch.full((24,), 0.1)), nn.Linear(24, 10)
        self.squeeze, self.excite = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)

    def forward(self, x, y):
        x = self.patches(x)
        inner = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        x = x + (self.down(F.gelu(self.up(inner))) * self.scale).permute(0, 3, 1, 2)
        x = x * torch.sigmoid(self.excite(F.relu(self.squeeze(x.mean((2, 3), keepdim=True)))))
        return F.cross_entropy(self.last(x.amax((2, 3))), y[:, 0, 0])


class Transformer(nn.Module):
    """Patches of an image as tokens, behind a token for the class."""

    def __init__(self):
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, 32, 4, stride=4), nn.Parameter(torch.zeros(1, 1, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.last = nn.Linear(32, 10)

    def forward(self, x, y):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = self.layer(torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1))
        return F.cross_entropy(self.last(x[:, 0]), y[:, 0, 0])


class Wave(nn.Module):
    """One dimension: strides and dilations, batch and instance norms, gates."""

    def __init__(self):
        super().__init__()
        self.first, self.batch = nn.Conv1d(3, 16, 9, stride=4, padding=4), nn.BatchNorm1d(16)
        self.second, self.norm = nn.Conv1d(16, 16, 3, padding=2, dilation=2), nn.InstanceNorm1d(16, affine=True)
        self.last = nn.Linear(16, 10)

    def forward(self, x, y):
        x = F.max_pool1d(F.relu(self.batch(self.first(x.flatten(2)))), 2)
        x = F.glu(torch.cat([self.second(x), self.norm(x)], 1), 1)
        return F.cross_entropy(self.last(x.mean(2)), y[:, 0, 0])


class Volume(nn.Module):
    """Three dimensions, of unequal windows and strides."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv3d(3, 8, 3, padding=1), nn.Conv3d(8, 16, (1, 3, 3), stride=(1, 2, 2))
        self.batch, self.last = nn.BatchNorm3d(16), nn.Linear(16, 10)

    def forward(self, x, y):
        x = F.max_pool3d(F.relu(self.first(x.reshape(x.shape[0], 3, 4, 4, 16))), (2, 1, 2))
        return F.cross_entropy(self.last(F.leaky_relu(self.batch(self.second(x))).mean((2, 3, 4))), y[:, 0, 0])


class Restorer(nn.Module):
    """Cells that become channels and back, reflected edges, and squared errors of pixels."""

    def __init__(self):
        super().__init__()
        self.first, self.shuffle = nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect"), nn.PixelShuffle(2)
        self.second = nn.Conv2d(2, 3, 3, padding=1)

    def forward(self, x, y):
        parts = F.pixel_unshuffle(self.second(self.shuffle(torch.tanh(self.first(x)))), 2)
        return ((parts[:, :3] - x) ** 2).mean() + (x - parts[:, 3:6].roll(1, 3)).abs().mean() + 0 * y.float().mean()


class Denoiser(nn.Module):
    """A U-Net: blocks with group norms that are told a number, skips that are joined, attention, nearest up-sampling, means."""

    class Block(nn.Module):
        def __init__(self, before, after):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(4, before), nn.GroupNorm(4, after)
            self.first, self.second = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
            self.time, self.skip = nn.Linear(8, after), nn.Conv2d(before, after, 1)

        def forward(self, x, time):
            y = self.first(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
            return self.skip(x) + self.second(F.silu(self.norm2(y)))

    def __init__(self):
        super().__init__()
        self.embed, self.first, self.shrink = nn.Linear(1, 8), nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, 2, 1)
        self.down, self.deep = Denoiser.Block(16, 16), Denoiser.Block(16, 32)
        self.norm, self.qkv, self.out = nn.GroupNorm(4, 32), nn.Linear(32, 96), nn.Linear(32, 32)
        self.squeeze, self.up1, self.up2 = nn.Conv2d(32, 32, 1), Denoiser.Block(48, 16), Denoiser.Block(32, 16)
        self.whole, self.last = nn.GroupNorm(1, 16), nn.Conv2d(16, 3, 3, padding=1)

    def attend(self, x):
        b, c, h, w = x.shape
        y = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (part.view(b, h * w, 2, c // 2).transpose(1, 2) for part in self.qkv(y).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
        return x + self.out(y).transpose(1, 2).reshape(b, c, h, w)

    def forward(self, x, y):
        time = F.silu(self.embed(y[:, 0, :1].to(x.dtype)))
        wide = self.first(x)
        level = self.down(wide, time)
        small = self.shrink(level)
        deep = self.attend(self.deep(small, time))
        deep = deep * torch.sigmoid(self.squeeze(deep.mean((2, 3), keepdim=True)))
        deep = F.interpolate(self.up1(torch.cat([deep, small], 1), time), scale_factor=2.0, mode="nearest")
        return F.mse_loss(self.last(F.silu(self.whole(self.up2(torch.cat([deep, level], 1), time)))), x)


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    torch.manual_seed(0)
    x, y = torch.randn(SAMPLES, 3, 16, 16), torch.randint(0, 5, (SAMPLES, 16, 16))
    numpy.save(os.path.join(folder, "data", "x.npy"), x.numpy())
    numpy.save(os.path.join(folder, "data", "y.npy"), y.numpy())
    losses = {}
    for network in (Segmenter, Resampler, Next, Transformer, Wave, Volume, Restorer, Denoiser):
        name = network.__name__.lower()
        module = network()
        dtcc_export.export(module, {"x": x[:ROWS], "y": y[:ROWS]}, os.path.join(folder, f"{name}.onnx"))
        losses[name] = module.double().train()(x[:ROWS].double(), y[:ROWS]).item()
    with open(os.path.join(folder, "losses.json"), "w") as stream:
        json.dump(losses, stream, indent=1)
        stream.write("\n")


main()
