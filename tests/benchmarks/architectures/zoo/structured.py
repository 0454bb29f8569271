# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks with a structure of their own: routed capsules, latents, fields, memories, solvers and networks that make weights."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from .registry import LENGTH, SENTENCES, WORDS, add, classes, fields, numbers


class Capsules(nn.Module):
    """Vectors that vote for vectors, with three rounds of routing by agreement and the margin loss."""

    def __init__(self):
        super().__init__()
        self.first, self.weight = nn.Conv2d(3, 8, 5, 4), nn.Parameter(torch.randn(8, 10, 8, 4) * 0.3)

    @staticmethod
    def squash(x):
        length = x.square().sum(-1, keepdim=True)
        return length / (1 + length) * x / (length + 1e-8).sqrt()

    def forward(self, x, labels):
        low = self.squash(F.adaptive_avg_pool2d(F.relu(self.first(x)), (2, 4)).flatten(2).transpose(1, 2))
        votes = torch.einsum("bid,iodv->biov", low, self.weight)
        logits = torch.zeros(x.shape[0], 8, 10, 1, dtype=x.dtype)
        for _ in range(3):
            high = self.squash((logits.softmax(2) * votes).sum(1, keepdim=True))
            logits = logits + (votes * high).sum(-1, keepdim=True)
        length = (high.square().sum(-1) + 1e-8).sqrt().squeeze(1)
        own = F.one_hot(labels, 10).to(x.dtype)
        return (own * F.relu(0.9 - length).square() + 0.5 * (1 - own) * F.relu(length - 0.1).square()).sum(-1).mean()


class Perceiver(nn.Module):
    """A few latents that attend to all pixels, then among themselves."""

    def __init__(self):
        super().__init__()
        self.latents, self.pixels = nn.Parameter(torch.randn(1, 8, 32) * 0.02), nn.Linear(3, 32)
        self.read = nn.MultiheadAttention(32, 2, kdim=32, vdim=32, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        pixels = self.pixels(x.flatten(2).transpose(1, 2))
        y = self.latents.expand(x.shape[0], -1, -1)
        y = y + self.read(y, pixels, pixels, need_weights=False)[0]
        return self.head(self.layer(y).mean(1))


class HyperNetwork(nn.Module):
    """A network that makes each sample's weights from its context."""

    def __init__(self):
        super().__init__()
        self.make, self.first = nn.Linear(4, 16 * 8 + 16), nn.Linear(16, 1)

    def forward(self, x, context, target):
        made = self.make(context)
        y = torch.bmm(made[:, :128].view(-1, 16, 8), x[..., None]).squeeze(-1) + made[:, 128:]
        return F.mse_loss(self.first(y.tanh()).squeeze(-1), target)


class Ode(nn.Module):
    """A neural differential equation, by four steps of Runge and Kutta."""

    def __init__(self):
        super().__init__()
        self.net, self.head = nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 8)), nn.Linear(8, 5)

    def rate(self, x, time):
        return self.net(torch.cat([x, torch.full_like(x[:, :1], time)], -1))

    def forward(self, x, labels):
        h = 0.25
        for i in range(4):
            a = self.rate(x, i * h)
            b = self.rate(x + h / 2 * a, (i + 0.5) * h)
            c = self.rate(x + h / 2 * b, (i + 0.5) * h)
            d = self.rate(x + h * c, (i + 1) * h)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return F.cross_entropy(self.head(x), labels)


class Equilibrium(nn.Module):
    """A layer that is applied until it hardly moves: eight times."""

    def __init__(self):
        super().__init__()
        self.own, self.given, self.norm, self.head = nn.Linear(16, 16), nn.Linear(8, 16), nn.GroupNorm(4, 16), nn.Linear(16, 5)

    def forward(self, x, labels):
        given = self.given(x)
        y = torch.zeros_like(given)
        for _ in range(8):
            y = self.norm(F.relu(self.own(y) + given))
        return F.cross_entropy(self.head(y), labels)


class Siren(nn.Module):
    """A field of sines over places."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 3)

    def forward(self, place, colour):
        y = torch.sin(30 * self.first(place * 0.1))
        return F.mse_loss(self.last(torch.sin(self.second(y))), colour)


class Nerf(nn.Module):
    """Colours and densities along rays, and what light of each reaches the eye."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3 + 24, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, origin, direction, colour):
        depth = torch.linspace(0.5, 2, 8, dtype=origin.dtype)
        places = origin[:, None] + F.normalize(direction, dim=-1)[:, None] * depth[:, None]
        angles = places[..., None] * (2.0 ** torch.arange(4)).to(origin.dtype)
        waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(2)
        said = self.net(torch.cat([places, waves], -1))
        thick = F.softplus(said[..., 3]) * 0.2
        solid, passed = 1 - (-thick).exp(), (thick - thick.cumsum(1)).exp()
        return F.mse_loss(((passed * solid)[..., None] * said[..., :3].sigmoid()).sum(1), colour)


class Kan(nn.Module):
    """Learned curves on every edge: cubic splines on a grid, beside a linear part."""

    def __init__(self):
        super().__init__()
        self.register_buffer("grid", torch.arange(-6, 7) * 0.5)
        self.curves, self.base = nn.Parameter(torch.randn(5, 8, 9) * 0.1), nn.Linear(8, 5)

    def forward(self, x, labels):
        at, grid = x[..., None], self.grid
        basis = ((at >= grid[:-1]) & (at < grid[1:])).to(x.dtype)
        for k in range(1, 4):
            low = (at - grid[:-(k + 1)]) / (grid[k:-1] - grid[:-(k + 1)]) * basis[..., :-1]
            basis = low + (grid[k + 1:] - at) / (grid[k + 1:] - grid[1:-k]) * basis[..., 1:]
        return F.cross_entropy(self.base(F.silu(x)) + torch.einsum("big,oig->bo", basis, self.curves), labels)


class Slots(nn.Module):
    """Slot attention: slots compete for places, and take in what they win by a recurrent cell."""

    def __init__(self):
        super().__init__()
        self.places, self.start = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.randn(1, 4, 16))
        self.norm, self.slot_norm, self.cell = nn.LayerNorm(16), nn.LayerNorm(16), nn.GRUCell(16, 16)
        self.q, self.kv, self.head = nn.Linear(16, 16, bias=False), nn.Linear(16, 32, bias=False), nn.Linear(16, 10)

    def forward(self, x):
        k, v = self.kv(self.norm(self.places(x).flatten(2).transpose(1, 2))).chunk(2, -1)
        slots = self.start.expand(x.shape[0], -1, -1)
        for _ in range(2):
            shares = (k @ self.q(self.slot_norm(slots)).transpose(1, 2) / 4).softmax(-1) + 1e-8
            shares = shares / shares.sum(1, keepdim=True)
            slots = self.cell((shares.transpose(1, 2) @ v).flatten(0, 1), slots.flatten(0, 1)).view(-1, 4, 16)
        return self.head(slots.amax(1))


class Densities(nn.Module):
    """A mixture density network."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Mish(), nn.Linear(16, 9))

    def forward(self, x, target):
        share, mean, spread = self.net(x).chunk(3, -1)
        logs = share.log_softmax(-1) - spread - 0.5 * ((target[:, None] - mean) * (-spread).exp()).square()
        return 0.5 * math.log(2 * math.pi) - logs.logsumexp(-1).mean()


class Softmaxes(nn.Module):
    """A mixture of softmaxes over words."""

    def __init__(self):
        super().__init__()
        self.words, self.prior, self.latent = nn.Embedding(WORDS, 16), nn.Linear(16, 3), nn.Linear(16, 48)

    def forward(self, input_ids, labels):
        x = self.words(input_ids)
        parts = (self.latent(x).tanh().unflatten(-1, (3, 16)) @ self.words.weight.T).softmax(-1)
        shares = (self.prior(x).softmax(-1)[..., None] * parts).sum(-2)
        return F.nll_loss((shares + 1e-8).log().flatten(0, 1), labels.flatten())


class Crf(nn.Module):
    """A linear-chain CRF: the score of the labels less all ways, by the forward recursion."""

    def __init__(self):
        super().__init__()
        self.words, self.turn = nn.Embedding(WORDS, 5), nn.Parameter(torch.randn(5, 5) * 0.1)

    def forward(self, input_ids, labels):
        said = self.words(input_ids)
        score = torch.gather(said, 2, labels[..., None]).sum((1, 2)) + self.turn[labels[:, :-1], labels[:, 1:]].sum(1)
        alpha = said[:, 0]
        for i in range(1, input_ids.shape[1]):
            alpha = (alpha[:, :, None] + self.turn).logsumexp(1) + said[:, i]
        return (alpha.logsumexp(-1) - score).mean()


class Pointer(nn.Module):
    """A recurrent encoder and a decoder that points at one of its places, by additive attention."""

    def __init__(self):
        super().__init__()
        self.words, self.read = nn.Embedding(WORDS, 16), nn.GRU(16, 16, batch_first=True)
        self.cell, self.of_place, self.of_state, self.last = (nn.GRUCell(16, 16), nn.Linear(16, 16), nn.Linear(16, 16),
                                                              nn.Linear(16, 1, bias=False))

    def forward(self, input_ids, places):
        read, state = self.read(self.words(input_ids))
        state, given, loss = state[0], torch.zeros(input_ids.shape[0], 16, dtype=read.dtype), 0.0
        for i in range(3):
            state = self.cell(given, state)
            logits = self.last((self.of_place(read) + self.of_state(state)[:, None]).tanh()).squeeze(-1)
            loss = loss + F.cross_entropy(logits, places[:, i])
            given = (logits.softmax(-1)[..., None] * read).sum(1)
        return loss / 3


class Memory(nn.Module):
    """A memory that is read and written by likeness, as a neural Turing machine's."""

    def __init__(self):
        super().__init__()
        self.words, self.cell = nn.Embedding(WORDS, 16), nn.LSTMCell(24, 16)
        self.key, self.write, self.head = nn.Linear(16, 8), nn.Linear(16, 17), nn.Linear(24, WORDS)
        self.start = nn.Parameter(torch.randn(1, 6, 8) * 0.1)

    def forward(self, input_ids, labels):
        batch, length = input_ids.shape
        memory, read = self.start.expand(batch, -1, -1), self.start[:, 0].expand(batch, -1)
        h = c = self.words.weight[:1].expand(batch, -1) * 0.0
        said = []
        for i in range(length):
            h, c = self.cell(torch.cat([self.words(input_ids[:, i]), read], -1), (h, c))
            key, (strong, erase, put) = self.key(h), self.write(h).split([1, 8, 8], -1)
            shares = (F.softplus(strong) * F.cosine_similarity(memory, key[:, None], -1)).softmax(-1)[..., None]
            memory = memory * (1 - shares * erase.sigmoid()[:, None]) + shares * put[:, None]
            read = (shares * memory).sum(1)
            said.append(self.head(torch.cat([h, read], -1)))
        return F.cross_entropy(torch.stack(said, 1).flatten(0, 1), labels.flatten())


class Hopfield(nn.Module):
    """Stored patterns, to which a state is drawn in a few steps."""

    def __init__(self):
        super().__init__()
        self.patterns, self.head = nn.Parameter(torch.randn(12, 8)), nn.Linear(8, 5)

    def forward(self, x, labels):
        for _ in range(3):
            x = (2.0 * x @ self.patterns.T).softmax(-1) @ self.patterns
        return F.cross_entropy(self.head(x), labels)


class Spatial(nn.Module):
    """A spatial transformer: an affine grid of places, from which the image is sampled."""

    def __init__(self):
        super().__init__()
        self.where, self.head = nn.Linear(192, 6), nn.Linear(192, 10)
        nn.init.normal_(self.where.weight, std=0.01)
        self.where.bias.data = torch.tensor([1.0, 0.1, 0.05, -0.1, 0.9, 0.05])

    def forward(self, x):
        x = F.avg_pool2d(x, 4)
        grid = F.affine_grid(self.where(x.flatten(1)).view(-1, 2, 3), list(x.shape), align_corners=False)
        return self.head(F.grid_sample(x, grid, align_corners=False).flatten(1))


class Halting(nn.Module):
    """Adaptive computation: one layer three times, its states weighted by when it halts."""

    def __init__(self):
        super().__init__()
        self.layer, self.halt, self.head = nn.GRUCell(8, 16), nn.Linear(16, 1), nn.Linear(16, 5)
        self.start = nn.Parameter(torch.zeros(1, 16))

    def forward(self, x, labels):
        state, left, whole, steps = self.start.expand(x.shape[0], -1), 1.0, 0.0, 0.0
        for i in range(3):
            state = self.layer(x, state)
            share = left * self.halt(state).sigmoid() if i < 2 else left
            whole, steps, left = whole + share * state, steps + (i + 1) * share, left - share
        return F.cross_entropy(self.head(whole), labels) + 0.01 * steps.mean()


class Actor(nn.Module):
    """Soft actor-critic's actor: an action squashed by tanh, judged by the lesser of two frozen critics."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
        self.critics = nn.ModuleList(nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(2)).requires_grad_(False)

    def forward(self, x, noise):
        mean, spread = self.net(x).chunk(2, -1)
        spread = spread.clamp(-5, 2)
        action = mean + spread.exp() * noise
        logs = (-0.5 * noise.square() - spread - 0.919 - 2 * (math.log(2) - action - F.softplus(-2 * action))).sum(-1)
        judged = torch.minimum(*(critic(torch.cat([x, action.tanh()], -1)) for critic in self.critics)).squeeze(-1)
        return (0.2 * logs - judged).mean()


class Values(nn.Module):
    """A duelling deep Q network with quantiles, against targets that are inputs."""

    def __init__(self):
        super().__init__()
        self.net, self.value, self.gain = nn.Sequential(nn.Linear(8, 32), nn.ReLU()), nn.Linear(32, 1), nn.Linear(32, 4)

    def forward(self, x, action, target):
        y = self.net(x)
        gain = self.gain(y)
        q = self.value(y) + gain - gain.mean(-1, keepdim=True)
        return F.smooth_l1_loss(torch.gather(q, 1, action[:, None]).squeeze(1), target)


VECTOR = numbers(8)
LABELLED = fields(x=VECTOR, labels=classes(5))
IDS = SENTENCES
add(__name__, fields(x=numbers(3, 32, 32), labels=classes(10)), "capsules", Capsules)
add(__name__, "image", "perceiver", Perceiver)
add(__name__, fields(x=VECTOR, context=numbers(4), target=numbers()), "hypernetwork", HyperNetwork)
for name, make in {"neural_ode": Ode, "equilibrium": Equilibrium, "kan": Kan, "hopfield": Hopfield, "adaptive_halting": Halting}.items():
    add(__name__, LABELLED, name, make)
add(__name__, fields(place=numbers(2), colour=numbers(3)), "siren", Siren)
add(__name__, fields(origin=numbers(3), direction=numbers(3), colour=numbers(3)), "nerf", Nerf)
add(__name__, "image", "slot_attention", Slots)
add(__name__, fields(x=VECTOR, target=numbers()), "mixture_density", Densities)
add(__name__, fields(input_ids=IDS, labels=IDS), "mixture_of_softmaxes", Softmaxes)
add(__name__, fields(input_ids=IDS, labels=classes(5, LENGTH)), "crf", Crf)
add(__name__, fields(input_ids=IDS, places=classes(8, 3)), "pointer_network", Pointer)
add(__name__, fields(input_ids=IDS, labels=IDS), "turing_machine", Memory)
add(__name__, "image", "spatial_transformer", Spatial)
add(__name__, fields(x=VECTOR, noise=numbers(2)), "sac_actor", Actor)
add(__name__, fields(x=VECTOR, action=classes(4), target=numbers()), "dueling_dqn", Values)
