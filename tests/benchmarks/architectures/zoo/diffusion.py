# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Diffusion models: each predicts the noise in an image, or the way to it."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from .registry import SENTENCES, add, classes, fields, numbers


def waves(times, width):
    """Sinusoids of the time step."""
    angles = times[:, None] * torch.exp(torch.arange(width // 2, dtype=times.dtype) * (-math.log(1e4) / (width // 2)))
    return torch.cat([angles.cos(), angles.sin()], -1)


def noised(image, noise, step):
    """The image after `step` of 10 steps, and the time as a float."""
    kept = (1 - (torch.arange(10, dtype=image.dtype) + 1) / 12)[step].view(-1, 1, 1, 1)
    return kept.sqrt() * image + (1 - kept).sqrt() * noise, step.to(image.dtype)


class Residual(nn.Module):
    def __init__(self, inner, outer, groups=8):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(groups, inner), nn.SiLU(), nn.Conv2d(inner, outer, 3, padding=1))
        self.time = nn.Linear(32, 2 * outer)
        self.norm, self.last = nn.GroupNorm(groups, outer), nn.Conv2d(outer, outer, 3, padding=1)
        self.past = nn.Identity() if inner == outer else nn.Conv2d(inner, outer, 1)

    def forward(self, x, time):
        scale, shift = self.time(time)[:, :, None, None].chunk(2, 1)
        return self.past(x) + self.last(F.silu(self.norm(self.first(x)) * (1 + scale) + shift))


class Attend(nn.Module):
    """Attention of all places of an image, among themselves or to a text."""

    def __init__(self, width, to=None):
        super().__init__()
        self.norm, self.q = nn.GroupNorm(8, width), nn.Linear(width, width)
        self.kv, self.out = nn.Linear(to or width, 2 * width), nn.Linear(width, width)

    def forward(self, x, text=None):
        batch, width, height, wide = x.shape
        y = self.norm(x).flatten(2).transpose(1, 2)
        k, v = self.kv(y if text is None else text).chunk(2, -1)
        q, k, v = (t.view(batch, -1, 2, width // 2).transpose(1, 2) for t in (self.q(y), k, v))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, height * wide, width)
        return x + self.out(y).transpose(1, 2).reshape(batch, width, height, wide)


class DiffusionUnet(nn.Module):
    """DDPM's network; with `text`, latent diffusion's, which attends to words."""

    def __init__(self, text=False):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.first, self.text = nn.Conv2d(3, 16, 3, padding=1), nn.Embedding(61, 24) if text else None
        self.fine, self.down, self.coarse = Residual(16, 16), nn.Conv2d(16, 16, 3, 2, 1), Residual(16, 32)
        self.attend, self.cross = Attend(32), Attend(32, 24) if text else None
        self.up, self.merge = nn.Conv2d(32, 16, 3, padding=1), Residual(32, 16)
        self.last = nn.Sequential(nn.GroupNorm(8, 16), nn.SiLU(), nn.Conv2d(16, 3, 3, padding=1))

    def forward(self, image, noise, step, input_ids=None):
        x, time = noised(image, noise, step)
        time = self.time(waves(time, 16))
        fine = self.fine(self.first(x), time)
        y = self.attend(self.coarse(self.down(fine), time))
        if self.text is not None:
            y = self.cross(y, self.text(input_ids))
        y = self.up(F.interpolate(y, scale_factor=2.0))
        return F.mse_loss(self.last(self.merge(torch.cat([y, fine], 1), time)), noise)


class Dit(nn.Module):
    """Patches in transformer blocks, whose norms are shifted, scaled and gated by time and class."""

    def __init__(self):
        super().__init__()
        self.patches, self.classes = nn.Conv2d(3, 32, 4, 4), nn.Embedding(10, 32)
        self.places = nn.Parameter(torch.randn(1, 16, 32) * 0.02)
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.steer = nn.ModuleList(nn.Sequential(nn.SiLU(), nn.Linear(32, 192)) for _ in range(2))
        self.mix = nn.ModuleList(nn.Linear(32, 96) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.GELU("tanh"), nn.Linear(64, 32)) for _ in range(2))
        self.norm, self.last_steer = nn.LayerNorm(32, elementwise_affine=False), nn.Linear(32, 64)
        self.last = nn.Linear(32, 48)

    def forward(self, image, noise, step, label):
        x, time = noised(image, noise, step)
        about = self.time(waves(time, 16)) + self.classes(label)
        y = self.patches(x).flatten(2).transpose(1, 2) + self.places
        batch = y.shape[0]
        for steer, mix, out, mlp in zip(self.steer, self.mix, self.out, self.mlp):
            shift, scale, gate, shift2, scale2, gate2 = steer(about)[:, None].chunk(6, -1)
            q, k, v = mix(self.norm(y) * (1 + scale) + shift).view(batch, 16, 3, 4, 8).permute(2, 0, 3, 1, 4)
            y = y + gate * out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, 16, 32))
            y = y + gate2 * mlp(self.norm(y) * (1 + scale2) + shift2)
        shift, scale = self.last_steer(F.silu(about))[:, None].chunk(2, -1)
        y = self.last(self.norm(y) * (1 + scale) + shift)
        y = y.view(batch, 4, 4, 4, 4, 3).permute(0, 5, 1, 3, 2, 4).reshape(batch, 3, 16, 16)
        return F.mse_loss(y, noise)


class JointDit(nn.Module):
    """Stable Diffusion 3: text and image have weights of their own and attend together; the loss is a flow's."""

    def __init__(self):
        super().__init__()
        self.patches, self.words, self.time = nn.Conv2d(3, 32, 4, 4), nn.Embedding(61, 32), nn.Linear(16, 32)
        self.mix = nn.ModuleList(nn.Linear(32, 96) for _ in range(2))
        self.q_norm, self.k_norm = nn.RMSNorm(8), nn.RMSNorm(8)
        self.out = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))
        self.norm, self.last = nn.LayerNorm(32, elementwise_affine=False), nn.Linear(32, 48)

    def forward(self, image, noise, share, input_ids):
        at = share.view(-1, 1, 1, 1).sigmoid()
        about = self.time(waves(at.flatten(), 16))[:, None]
        y = self.patches((1 - at) * image + at * noise).flatten(2).transpose(1, 2) + about
        text = self.words(input_ids) + about
        batch = y.shape[0]
        both = [m(self.norm(t)).view(batch, -1, 3, 4, 8).permute(2, 0, 3, 1, 4) for m, t in zip(self.mix, (text, y))]
        q, k, v = torch.cat(both, 3).unbind(0)
        mixed = F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v).transpose(1, 2).reshape(batch, -1, 32)
        words = text.shape[1]
        y = self.last(self.norm(y + self.out[1](mixed[:, words:]) + self.out[0](mixed[:, :words]).mean(1, keepdim=True)))
        way = F.pixel_shuffle(y.transpose(1, 2).reshape(batch, 48, 4, 4), 4)
        return (way - (noise - image)).square().mean()


class Preconditioned(nn.Module):
    """EDM: the network's input, output and loss are weighted by the noise level."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(4, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, 16, 3, padding=1, groups=4),
                                 nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 3, 3, padding=1))

    def forward(self, image, noise, share):
        level = (share * 1.2 - 1.2).exp().view(-1, 1, 1, 1)
        total = level.square() + 0.25
        noisy = image + level * noise
        level_map = (level.log() / 4).expand(-1, 1, 16, 16)
        out = self.net(torch.cat([noisy / total.sqrt(), level_map], 1))
        guess = noisy * 0.25 / total + out * level * 0.5 / total.sqrt()
        return (total / (level * 0.5).square() * (guess - image).square()).mean()


IMAGES = dict(image=numbers(3, 16, 16), noise=numbers(3, 16, 16))
add(__name__, fields(**IMAGES, step=classes(10)), "ddpm_unet", DiffusionUnet)
add(__name__, fields(**IMAGES, step=classes(10), input_ids=SENTENCES), "latent_diffusion", lambda: DiffusionUnet(True))
add(__name__, fields(**IMAGES, step=classes(10), label=classes(10)), "dit", Dit)
add(__name__, fields(**IMAGES, share=numbers(), input_ids=SENTENCES), "mmdit", JointDit)
add(__name__, fields(**IMAGES, share=numbers()), "edm", Preconditioned)
