# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Autoencoders, discriminators and normalising flows."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

from .registry import add, classes, fields, numbers


class Autoencoder(nn.Module):
    def __init__(self, inner=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, inner, 3, 2, 1))
        self.up = nn.Sequential(nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(8, 3, 4, 2, 1))

    def forward(self, image):
        return F.mse_loss(self.up(self.down(image)), image)


class Vae(Autoencoder):
    """Means and logarithms of variances; the noise is an input."""

    def __init__(self):
        super().__init__(32)

    def forward(self, image, noise):
        mean, spread = self.down(image).chunk(2, 1)
        apart = 0.5 * (mean.square() + spread.exp() - 1 - spread).sum((1, 2, 3)).mean()
        return (self.up(mean + (0.5 * spread).exp() * noise) - image).square().sum((1, 2, 3)).mean() / 768 + apart / 768


class VqVae(Autoencoder):
    """Each place takes the nearest of 16 codes; the gradient passes straight through."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(16, 16) * 0.2)

    def forward(self, image):
        z = self.down(image).permute(0, 2, 3, 1)
        apart = z.square().sum(-1, keepdim=True) - 2 * z @ self.codes.T + self.codes.square().sum(-1)
        code = F.embedding(apart.argmin(-1), self.codes)
        passed = z + (code - z).detach()
        return (F.mse_loss(self.up(passed.permute(0, 3, 1, 2)), image) + F.mse_loss(code, z.detach())
                + 0.25 * F.mse_loss(z, code.detach()))


class FiniteScalars(Autoencoder):
    """FSQ: every channel rounded to one of five levels."""

    def forward(self, image):
        z = self.down(image).tanh() * 2
        return F.mse_loss(self.up(z + (z.round() - z).detach()), image)


class Gumbel(Autoencoder):
    """Shares of codes by a softmax over what the encoder says plus noise."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(16, 16) * 0.2)

    def forward(self, image, noise):
        logits = self.down(image)
        shares = ((logits + noise) / 0.7).softmax(1)
        logs = logits.log_softmax(1)
        apart = (logs.exp() * (logs + math.log(16))).sum(1).mean()
        return F.mse_loss(self.up(torch.einsum("bchw,cd->bdhw", shares, self.codes)), image) + 0.01 * apart


class Masked(nn.Module):
    """MAE: encodes the patches that are kept, and decodes all from them and one token."""

    def __init__(self):
        super().__init__()
        layer = dict(nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True, norm_first=True)
        self.patches, self.places = nn.Linear(48, 32), nn.Parameter(torch.randn(1, 16, 32) * 0.02)
        self.encode, self.decode = nn.TransformerEncoderLayer(32, **layer), nn.TransformerEncoderLayer(32, **layer)
        self.token, self.last = nn.Parameter(torch.randn(1, 1, 32) * 0.02), nn.Linear(32, 48)

    def forward(self, image, order):
        cut = F.pixel_unshuffle(image, 4).flatten(2).transpose(1, 2)
        order = order.argsort(1)
        back, kept = order.argsort(1), order[:, :4]
        y = self.patches(cut) + self.places
        y = self.encode(torch.gather(y, 1, kept[..., None].expand(-1, -1, 32)))
        y = torch.cat([y, self.token.expand(y.shape[0], 12, -1)], 1)
        y = torch.gather(y, 1, back[..., None].expand(-1, -1, 32)) + self.places
        wrong = (self.last(self.decode(y)) - cut).square().mean(-1)
        hidden = (back >= 4).to(wrong.dtype)
        return (wrong * hidden).sum() / hidden.sum()


class Sparse(nn.Module):
    """A sparse autoencoder: the four greatest of 64 features, and a penalty."""

    def __init__(self):
        super().__init__()
        self.first, self.last, self.middle = nn.Linear(16, 64), nn.Linear(64, 16, bias=False), nn.Parameter(torch.zeros(16))

    def forward(self, x):
        found = F.relu(self.first(x - self.middle)).topk(4, -1)
        features = torch.zeros(x.shape[0], 64, dtype=x.dtype).scatter(-1, found.indices, found.values)
        return F.mse_loss(self.last(features) + self.middle, x) + 1e-3 * features.abs().sum(-1).mean()


class Discriminator(nn.Module):
    """DCGAN's, with the hinge loss of real and made images; norms of each image or of its spectrum."""

    def __init__(self, norm=nn.BatchNorm2d, wrap=lambda layer: layer):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), wrap(nn.Conv2d(8, 16, 4, 2, 1)), norm(16),
                                 nn.LeakyReLU(0.2), wrap(nn.Conv2d(16, 1, 4)))

    def forward(self, real, made):
        return F.relu(1 - self.net(real)).mean() + F.relu(1 + self.net(made)).mean()


class Generator(nn.Module):
    """A generator and the frozen discriminator that judges it, as one half of a GAN's step."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.ConvTranspose2d(8, 16, 4), nn.InstanceNorm2d(16, affine=True), nn.ReLU(),
                                 nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh())
        self.judge = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 8)).requires_grad_(False)

    def forward(self, noise):
        return F.softplus(-self.judge(self.net(noise[..., None, None]))).mean()


class Style(nn.Module):
    """StyleGAN's modulated convolution: one weight a sample, scaled and normalised, in groups."""

    def __init__(self):
        super().__init__()
        self.map, self.start = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2)), nn.Parameter(torch.randn(1, 16, 4, 4))
        self.weight, self.style, self.last = nn.Parameter(torch.randn(16, 16, 3, 3) * 0.1), nn.Linear(16, 16), nn.Conv2d(16, 3, 1)

    def forward(self, noise, image):
        batch = noise.shape[0]
        weight = self.weight[None] * (1 + self.style(self.map(noise)))[:, None, :, None, None]
        weight = weight * torch.rsqrt(weight.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        y = self.start.expand(batch, -1, -1, -1).reshape(1, batch * 16, 4, 4)
        y = F.conv2d(y, weight.reshape(batch * 16, 16, 3, 3), padding=1, groups=batch).view(batch, 16, 4, 4)
        return F.l1_loss(self.last(F.interpolate(F.leaky_relu(y, 0.2), scale_factor=2.0)), image)


def normal(z):
    return (-0.5 * (z.square() + math.log(2 * math.pi))).sum(-1)


class RealNvp(nn.Module):
    """Couplings: half of the numbers are scaled and shifted by a network of the other half."""

    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8)) for _ in range(4))

    def forward(self, x):
        total = 0.0
        for net in self.nets:
            a, b = x.chunk(2, -1)
            scale, shift = net(a).chunk(2, -1)
            x = torch.cat([b * scale.tanh().exp() + shift, a], -1)
            total = total + scale.tanh().sum(-1)
        return -(normal(x) + total).mean()


class Glow(nn.Module):
    """A scale and shift of each channel, an invertible mix by triangular factors, and a coupling of images."""

    def __init__(self):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.randn(12, 1, 1) * 0.1), nn.Parameter(torch.zeros(12, 1, 1))
        self.lower, self.upper, self.diagonal = (nn.Parameter(torch.randn(12, 12) * 0.1), nn.Parameter(torch.randn(12, 12) * 0.1),
                                                 nn.Parameter(torch.rand(12) + 0.5))
        self.net = nn.Sequential(nn.Conv2d(6, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 12, 3, padding=1))

    def forward(self, image):
        x = F.pixel_unshuffle(image, 2) * self.scale.exp() + self.shift
        mix = (self.lower.tril(-1) + torch.eye(12)) @ (self.upper.triu(1) + torch.diag(self.diagonal))
        x = F.conv2d(x, mix[:, :, None, None])
        a, b = x.chunk(2, 1)
        scale, shift = self.net(a).chunk(2, 1)
        scale = (scale + 2).sigmoid()
        whole = 64 * (self.scale.sum() + self.diagonal.abs().log().sum()) + scale.log().sum((1, 2, 3))
        return -(normal(torch.cat([a, (b + shift) * scale], 1).flatten(1)) + whole).mean() / 768


class Made(nn.Module):
    """A masked autoregressive flow: number i is shifted and scaled by those before it."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 32), nn.Linear(32, 16)
        degrees = torch.arange(32) % 7
        self.register_buffer("of_first", (degrees[:, None] >= torch.arange(8)).float())
        self.register_buffer("of_last", (torch.arange(8).repeat(2)[:, None] > degrees).float())

    def forward(self, x):
        y = F.relu(F.linear(x, self.first.weight * self.of_first, self.first.bias))
        shift, scale = F.linear(y, self.last.weight * self.of_last, self.last.bias).chunk(2, -1)
        return -(normal((x - shift) * (-scale).exp()) - scale.sum(-1)).mean()


class Planar(nn.Module):
    def __init__(self):
        super().__init__()
        self.u, self.w, self.b = nn.Parameter(torch.randn(4, 8) * 0.3), nn.Parameter(torch.randn(4, 8)), nn.Parameter(torch.zeros(4))

    def forward(self, x):
        total = 0.0
        for u, w, b in zip(self.u, self.w, self.b):
            u = u + (F.softplus(u @ w) - 1 - u @ w) * w / w.square().sum()
            t = (x @ w + b).tanh()
            total = total + torch.log(1 + (1 - t.square()) * (u @ w))
            x = x + t[:, None] * u
        return -(normal(x) + total).mean()


class Energy(nn.Module):
    """Noise contrastive estimation: data against noise by their energies."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Softplus(), nn.Linear(32, 1))

    def forward(self, x, noise):
        real, made = self.net(x).squeeze(-1) - normal(x), self.net(noise).squeeze(-1) - normal(noise)
        return F.binary_cross_entropy_with_logits(real, torch.ones_like(real)) + F.softplus(made).mean()


class PixelCnn(nn.Module):
    """Convolutions that see only what lies above and to the left; 16 levels a pixel."""

    def __init__(self):
        super().__init__()
        self.levels, self.first, self.last = nn.Embedding(16, 8), nn.Conv2d(8, 16, 5, padding=2), nn.Conv2d(16, 16, 1)
        mask = torch.ones(5, 5)
        mask[2, 2:] = 0
        mask[3:] = 0
        self.register_buffer("mask", mask)

    def forward(self, pixels):
        x = self.levels(pixels).permute(0, 3, 1, 2)
        y = F.relu(F.conv2d(x, self.first.weight * self.mask, self.first.bias, padding=2))
        return F.cross_entropy(self.last(y), pixels)


SMALL, VECTOR = numbers(3, 16, 16), numbers(8)
NOISY = fields(image=SMALL, noise=numbers(16, 4, 4))
JUDGED = fields(real=SMALL, made=SMALL)
add(__name__, fields(image=SMALL), "autoencoder", Autoencoder)
add(__name__, NOISY, "vae", Vae)
add(__name__, fields(image=SMALL), "vq_vae", VqVae)
add(__name__, fields(image=SMALL), "fsq_vae", FiniteScalars)
add(__name__, NOISY, "gumbel_vae", Gumbel)
add(__name__, fields(image=SMALL, order=numbers(16)), "mae", Masked)
add(__name__, fields(x=numbers(16)), "sparse_autoencoder", Sparse)
add(__name__, JUDGED, "dcgan_discriminator", Discriminator)
add(__name__, JUDGED, "patch_discriminator", lambda: Discriminator(nn.InstanceNorm2d))
add(__name__, JUDGED, "spectral_discriminator", lambda: Discriminator(nn.InstanceNorm2d, parametrizations.spectral_norm))
add(__name__, fields(noise=VECTOR), "gan_generator", Generator)
add(__name__, fields(noise=VECTOR, image=numbers(3, 8, 8)), "stylegan", Style, dynamic=False)
add(__name__, fields(x=VECTOR), "realnvp", RealNvp)
add(__name__, fields(image=SMALL), "glow", Glow)
add(__name__, fields(x=VECTOR), "maf", Made)
add(__name__, fields(x=VECTOR), "planar_flow", Planar)
add(__name__, fields(x=VECTOR, noise=VECTOR), "energy_model", Energy)
add(__name__, fields(pixels=classes(16, 8, 8)), "pixelcnn", PixelCnn)
