# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forecasts and classes of time series."""
import torch
import torch.nn.functional as F
import transformers
from torch import nn

from .registry import add, classes, fields, numbers

PAST, NEXT, CHANNELS = 32, 8, 3


class Tcn(nn.Module):
    """Causal convolutions with growing steps."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(CHANNELS, 16, 1)
        self.layers, self.last = nn.ModuleList(nn.Conv1d(16, 16, 3, dilation=2 ** i) for i in range(3)), nn.Linear(16, NEXT)

    def forward(self, past, future):
        x = self.first(past.transpose(1, 2))
        for i, layer in enumerate(self.layers):
            x = x + F.relu(layer(F.pad(x, (2 ** (i + 1), 0))))
        return F.mse_loss(self.last(x[..., -1]), future[..., 0])


class Wavenet(nn.Module):
    """Gated convolutions, whose skips are summed; 16 levels a sample."""

    def __init__(self):
        super().__init__()
        self.words, self.last = nn.Embedding(16, 8), nn.Sequential(nn.ReLU(), nn.Conv1d(8, 16, 1))
        self.gates = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2 ** i) for i in range(3))
        self.on, self.skip = (nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(3)) for _ in range(2))

    def forward(self, samples):
        x, whole = self.words(samples).transpose(1, 2), 0.0
        for i, (gate, on, skip) in enumerate(zip(self.gates, self.on, self.skip)):
            a, b = gate(F.pad(x, (2 ** i, 0))).chunk(2, 1)
            y = a.tanh() * b.sigmoid()
            x, whole = x + on(y), whole + skip(y)
        return F.cross_entropy(self.last(whole)[..., :-1], samples[:, 1:])


class DLinear(nn.Module):
    """A moving average and the rest, each through one matrix."""

    def __init__(self):
        super().__init__()
        self.trend, self.rest = nn.Linear(PAST, NEXT), nn.Linear(PAST, NEXT)

    def forward(self, past, future):
        x = past.transpose(1, 2)
        mean = F.avg_pool1d(F.pad(x, (2, 2), mode="replicate"), 5, 1)
        return F.mse_loss((self.trend(mean) + self.rest(x - mean)).transpose(1, 2), future)


class NBeats(nn.Module):
    """Blocks that each forecast, and take what they explain off the input."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(PAST, 32), nn.ReLU(), nn.Linear(32, PAST + NEXT)) for _ in range(3))

    def forward(self, past, future):
        rest, said = past[..., 0], 0.0
        for block in self.blocks:
            back, on = block(rest).split([PAST, NEXT], -1)
            rest, said = rest - back, said + on
        return F.smooth_l1_loss(said, future[..., 0])


class NHits(nn.Module):
    """Blocks at several rates: pooled inputs, interpolated forecasts."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(PAST // rate, NEXT // rate) for rate in (4, 2, 1))

    def forward(self, past, future):
        x, said = past.transpose(1, 2), 0.0
        for rate, block in zip((4, 2, 1), self.blocks):
            said = said + F.interpolate(block(F.max_pool1d(x, rate)), size=NEXT, mode="linear")
        return F.l1_loss(said.transpose(1, 2), future)


class Inverted(nn.Module):
    """iTransformer: each channel is one token, normalised by its own past."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(PAST, 32), nn.Linear(32, NEXT)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, activation="gelu")

    def forward(self, past, future):
        mean = past.mean(1, keepdim=True).detach()
        spread = (past.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt().detach()
        y = self.last(self.layer(self.first(((past - mean) / spread).transpose(1, 2)))).transpose(1, 2)
        return F.mse_loss(y * spread + mean, future)


class Mixed(nn.Module):
    """TSMixer: times and channels in turn."""

    def __init__(self):
        super().__init__()
        self.times, self.channels, self.last = nn.Linear(PAST, PAST), nn.Linear(CHANNELS, CHANNELS), nn.Linear(PAST, NEXT)
        self.norm = nn.LayerNorm([PAST, CHANNELS])

    def forward(self, past, future):
        x = past + F.relu(self.times(self.norm(past).transpose(1, 2))).transpose(1, 2)
        x = x + F.relu(self.channels(x))
        return F.huber_loss(self.last(x.transpose(1, 2)).transpose(1, 2), future)


class Gaussian(nn.Module):
    """DeepAR: a recurrent network that says a mean and a spread of the next value."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = nn.LSTM(CHANNELS, 16, batch_first=True), nn.Linear(16, 2 * CHANNELS)

    def forward(self, past):
        mean, spread = self.last(self.layer(past[:, :-1])[0]).chunk(2, -1)
        spread = F.softplus(spread) + 1e-3
        return 0.5 * (spread.log() + (past[:, 1:] - mean).square() / spread).mean()


class Quantiles(nn.Module):
    """Gated residual networks, a choice of variables, and three quantiles, as the temporal fusion transformer has."""

    def __init__(self):
        super().__init__()
        self.each = nn.ModuleList(nn.Linear(1, 16) for _ in range(CHANNELS))
        self.choose, self.gate = nn.Linear(16 * CHANNELS, CHANNELS), nn.Linear(16, 32)
        self.norm, self.attend, self.last = nn.LayerNorm(16), nn.MultiheadAttention(16, 2, batch_first=True), nn.Linear(16, 3)

    def forward(self, past, future):
        parts = torch.stack([layer(past[..., i:i + 1]) for i, layer in enumerate(self.each)], -2)
        x = (self.choose(parts.flatten(-2)).softmax(-1)[..., None] * parts).sum(-2)
        x = self.norm(x + F.glu(self.gate(F.elu(x)), -1))
        later = torch.ones(PAST, PAST, dtype=torch.bool).triu(1)
        x = self.last(self.attend(x, x, x, attn_mask=later, need_weights=False)[0][:, -NEXT:])
        wrong = future[..., :1] - x
        share = torch.tensor([0.1, 0.5, 0.9], dtype=x.dtype)
        return torch.maximum(share * wrong, (share - 1) * wrong).mean()


class Inception(nn.Module):
    """InceptionTime: convolutions of several lengths side by side."""

    def __init__(self):
        super().__init__()
        self.narrow, self.pooled = nn.Conv1d(CHANNELS, 8, 1, bias=False), nn.Conv1d(CHANNELS, 8, 1, bias=False)
        self.wide = nn.ModuleList(nn.Conv1d(8, 8, k, padding="same", bias=False) for k in (10, 5, 3))
        self.norm, self.last = nn.BatchNorm1d(32), nn.Linear(32, 5)

    def forward(self, past, labels):
        x = past.transpose(1, 2)
        narrow = self.narrow(x)
        y = torch.cat([*(layer(narrow) for layer in self.wide), self.pooled(F.max_pool1d(x, 3, 1, 1))], 1)
        return F.cross_entropy(self.last(F.relu(self.norm(y)).mean(-1)), labels)


def of_transformers(family, head="ForPrediction", **sizes):
    """A forecaster of transformers, which says its loss."""
    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = getattr(transformers, family + head)(getattr(transformers, family + "Config")(**sizes))

        def forward(self, past, future):
            return self.model(past_values=past, future_values=future).loss
    return Forecaster


PATCHES = dict(num_input_channels=CHANNELS, context_length=PAST, patch_length=8, prediction_length=NEXT, d_model=16)
FORECAST = fields(past=numbers(PAST, CHANNELS), future=numbers(NEXT, CHANNELS))
for name, make in {
    "tcn": Tcn, "dlinear": DLinear, "nbeats": NBeats, "nhits": NHits, "itransformer": Inverted, "tsmixer": Mixed,
    "fusion_transformer": Quantiles,
    "patchtst": of_transformers("PatchTST", **PATCHES, patch_stride=8, num_hidden_layers=1, num_attention_heads=2, ffn_dim=32, loss="mse",
                                attention_dropout=0.0, positional_dropout=0.0, path_dropout=0.0, ff_dropout=0.0, head_dropout=0.0),
    "patchtsmixer": of_transformers("PatchTSMixer", **PATCHES, patch_stride=8, num_layers=1, dropout=0.0, head_dropout=0.0, loss="mse"),
}.items():
    add(__name__, FORECAST, name, make)
add(__name__, fields(samples=classes(16, PAST)), "wavenet", Wavenet)
add(__name__, fields(past=numbers(PAST, CHANNELS)), "deepar", Gaussian)
add(__name__, fields(past=numbers(PAST, CHANNELS), labels=classes(5)), "inception_time", Inception)
