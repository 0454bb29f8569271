# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One causal attention layer for each way to tell it positions. Classes add what they do to scores or to queries and keys."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from .registry import LENGTH, WORDS, add

WIDTH, HEADS = 32, 4
EACH = WIDTH // HEADS


class Causal(nn.Module):
    """Attention without positions; the others override what differs."""

    def __init__(self):
        super().__init__()
        self.words, self.mix, self.out = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def embed(self, ids):
        return self.words(ids)

    def turn(self, q, k):
        return q, k

    def scores(self, q, k):
        return q @ k.transpose(-2, -1) / math.sqrt(EACH)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, HEADS, EACH).transpose(1, 2) for t in self.mix(self.norm(x)).chunk(3, -1))
        q, k = self.turn(q, k)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        shares = self.scores(q, k).masked_fill(later, float("-inf")).softmax(-1)
        return self.head(x + self.out((shares @ v).transpose(1, 2).reshape(batch, length, WIDTH)))


def distances(length):
    """How far key j lies before query i, as i - j."""
    places = torch.arange(length)
    return places[:, None] - places[None, :]


class Sinusoids(Causal):
    def embed(self, ids):
        angles = torch.arange(ids.shape[1])[:, None] * torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(1e4) / WIDTH))
        return self.words(ids) + torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


class Learned(Causal):
    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.randn(1, 64, WIDTH) * 0.02)

    def embed(self, ids):
        return self.words(ids) + self.places[:, :ids.shape[1]]


class Alibi(Causal):
    def scores(self, q, k):
        slopes = 2.0 ** -torch.arange(2, 10, 2, dtype=q.dtype)
        return super().scores(q, k) - slopes[:, None, None] * distances(q.shape[2])


class Buckets(Causal):
    """T5's bias: near distances each have a learned number, far ones share by the logarithm."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(8, HEADS)

    def scores(self, q, k):
        far = distances(q.shape[2]).clamp(min=0)
        shared = 4 + (torch.log(far.float().clamp(min=1) / 4) / math.log(32 / 4) * 4).long()
        return super().scores(q, k) + self.bias(torch.where(far < 4, far, shared.clamp(max=7))).permute(2, 0, 1)


class Shaw(Causal):
    """Learned vectors for clipped distances, added to the keys."""

    def __init__(self):
        super().__init__()
        self.near = nn.Embedding(9, EACH)

    def scores(self, q, k):
        vectors = self.near(distances(q.shape[2]).clamp(-4, 4) + 4)
        return super().scores(q, k) + torch.einsum("bhid,ijd->bhij", q, vectors) / math.sqrt(EACH)


class ShawOfValues(Shaw):
    """Shaw's vectors for the values as well."""

    def __init__(self):
        super().__init__()
        self.of_values = nn.Embedding(9, EACH)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, HEADS, EACH).transpose(1, 2) for t in self.mix(self.norm(x)).chunk(3, -1))
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        shares = self.scores(q, k).masked_fill(later, float("-inf")).softmax(-1)
        vectors = self.of_values(distances(length).clamp(-4, 4) + 4)
        mixed = shares @ v + torch.einsum("bhij,ijd->bhid", shares, vectors)
        return self.head(x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH)))


class Shifted(Causal):
    """Transformer-XL: sinusoids of distances, two biases of the queries, and the shift by a reshape."""

    def __init__(self):
        super().__init__()
        self.of_places = nn.Linear(WIDTH, WIDTH, bias=False)
        self.content, self.place = (nn.Parameter(torch.randn(HEADS, 1, EACH) * 0.1) for _ in range(2))

    def scores(self, q, k):
        batch, _, length, _ = q.shape
        angles = torch.arange(length - 1, -1, -1.0)[:, None] / 1e4 ** (torch.arange(0, WIDTH, 2.0) / WIDTH)
        places = self.of_places(torch.cat([angles.sin(), angles.cos()], -1).to(q.dtype)).view(length, HEADS, EACH)
        moved = F.pad(torch.einsum("bhid,jhd->bhij", q + self.place, places), (1, 0))
        moved = moved.reshape(batch, HEADS, length + 1, length)[:, :, 1:]
        return (((q + self.content) @ k.transpose(-2, -1)) + moved) / math.sqrt(EACH)


class Disentangled(Causal):
    """DeBERTa: contents with places and places with contents, looked up by distance."""

    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(2 * LENGTH, WIDTH)

    def scores(self, q, k):
        length = q.shape[2]
        parts = self.mix(self.places.weight).chunk(3, -1)
        of_queries, of_keys = (p.view(1, 2 * LENGTH, HEADS, EACH).transpose(1, 2) for p in parts[:2])
        at = (distances(length) + LENGTH).clamp(0, 2 * LENGTH - 1).expand(q.shape[0], HEADS, length, length)
        by_content = torch.gather(q @ of_keys.transpose(-2, -1), 3, at)
        by_place = torch.gather(k @ of_queries.transpose(-2, -1), 3, at).transpose(-2, -1)
        return (q @ k.transpose(-2, -1) + by_content + by_place) / math.sqrt(3 * EACH)


class Rotary(Causal):
    """Rotary positions in halves, of the first `turned` channels of each head."""
    turned, base = EACH, 1e4

    def angles(self, length, dtype):
        return torch.outer(torch.arange(length, dtype=dtype), self.base ** (-torch.arange(0, self.turned, 2, dtype=dtype) / self.turned))

    def rotate(self, x, angles):
        turned, kept = x[..., :self.turned], x[..., self.turned:]
        cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
        low, high = turned.chunk(2, -1)
        return torch.cat([turned * cos + torch.cat([-high, low], -1) * sin, kept], -1)

    def turn(self, q, k):
        angles = self.angles(q.shape[2], q.dtype)
        return self.rotate(q, angles), self.rotate(k, angles)


class Interleaved(Rotary):
    """Neighbouring channels turn together, as GPT-J's do."""

    def rotate(self, x, angles):
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()], -1).flatten(-2)


class Partial(Rotary):
    turned = EACH // 2


class Xpos(Rotary):
    """Rotary positions whose keys grow as queries shrink."""

    def turn(self, q, k):
        q, k = super().turn(q, k)
        base = (torch.arange(0, EACH, 2, dtype=q.dtype) / EACH + 0.4) / 1.4
        scale = base ** (torch.arange(q.shape[2], dtype=q.dtype)[:, None] / 8)
        scale = torch.cat([scale, scale], -1)
        return q * scale, k / scale


class Yarn(Rotary):
    """Frequencies interpolated where they turn less than once in the original length, scores scaled."""

    def angles(self, length, dtype):
        inverse = self.base ** (-torch.arange(0, EACH, 2, dtype=dtype) / EACH)
        ramp = ((torch.arange(EACH // 2, dtype=dtype) - 1) / 2).clamp(0, 1)
        return torch.outer(torch.arange(length, dtype=dtype), inverse / 4 * ramp + inverse * (1 - ramp))

    def turn(self, q, k):
        q, k = super().turn(q, k)
        return q * 1.1386, k


class Plane(Rotary):
    """Half of the channels turn by the row and half by the column of a four by four image."""

    def angles(self, length, dtype):
        inverse = 100.0 ** (-torch.arange(0, EACH // 2, 2, dtype=dtype) / (EACH // 2))
        places = torch.arange(length)
        return torch.cat([(places // 4).to(dtype)[:, None] * inverse, (places % 4).to(dtype)[:, None] * inverse], -1)


class Kerple(Causal):
    """A learned logarithm of the distance a head."""

    def __init__(self):
        super().__init__()
        self.scale, self.rate = nn.Parameter(torch.rand(HEADS, 1, 1)), nn.Parameter(torch.rand(HEADS, 1, 1))

    def scores(self, q, k):
        far = distances(q.shape[2]).clamp(min=0).to(q.dtype)
        return super().scores(q, k) - F.softplus(self.scale) * torch.log1p(F.softplus(self.rate) * far)


class Fire(Causal):
    """A small network of the normalised logarithmic distance."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, HEADS))
        self.rate = nn.Parameter(torch.tensor([0.5]))

    def scores(self, q, k):
        length = q.shape[2]
        far = distances(length).clamp(min=0).to(q.dtype)
        whole = torch.arange(1, length + 1).to(q.dtype)[:, None]
        share = torch.log1p(self.rate.abs() * far) / torch.log1p(self.rate.abs() * whole)
        return super().scores(q, k) + self.net(share[..., None]).permute(2, 0, 1)


class Contextual(Causal):
    """CoPE: a key's position is the sum of gates since then, between two learned vectors."""

    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.randn(EACH, 8) * 0.1)

    def scores(self, q, k):
        scores = super().scores(q, k)
        earlier = torch.ones(q.shape[2], q.shape[2]).tril().to(q.dtype)
        at = (scores.sigmoid() * earlier).flip(-1).cumsum(-1).flip(-1).clamp(max=7)
        low, high = at.floor(), at.ceil()
        table = q @ self.places
        return scores + torch.gather(table, -1, low.long()) * (1 - (at - low)) + torch.gather(table, -1, high.long()) * (at - low)


class Window(Causal):
    """Swin's learned bias of a window of four by four, in a table by row and column distance."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(49, HEADS) * 0.1)
        grid = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = grid[:, :, None] - grid[:, None, :] + 3
        self.register_buffer("at", apart[0] * 7 + apart[1])

    def scores(self, q, k):
        return super().scores(q, k) + self.table[self.at.view(-1)].view(16, 16, HEADS).permute(2, 0, 1)


for name, make in {
    "no_positions": Causal, "sinusoids": Sinusoids, "learned_positions": Learned, "alibi": Alibi, "t5_bias": Buckets,
    "shaw": Shaw, "shaw_values": ShawOfValues, "transformer_xl": Shifted, "disentangled": Disentangled, "rotary": Rotary,
    "rotary_interleaved": Interleaved, "rotary_partial": Partial, "xpos": Xpos, "yarn": Yarn, "rotary_2d": Plane,
    "kerple": Kerple, "fire": Fire, "cope": Contextual, "swin_bias": Window,
}.items():
    add(__name__, "tokens", name, make)
