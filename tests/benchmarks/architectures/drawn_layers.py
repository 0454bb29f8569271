# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LAYERS: calls of drawn.py that are modules of torch.nn, drawn with every option that changes what they compute."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from zoo.registry import WORDS


class Call(nn.Module):
    """A layer, and what comes before and behind it."""

    def __init__(self, layer, form=lambda layer, t: layer(t[0])):
        super().__init__()
        self.layer, self.form = layer, form

    def forward(self, t, _):
        return self.form(self.layer, t)


def channels_of(x):
    return x.shape[1]


def convolution(draw, x, p):
    rank = x[0].dim() - 2
    make = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[rank]
    groups = draw.one(1, 1, channels_of(x[0]))
    layer = make(channels_of(x[0]), groups * draw.one(1, 2, 3), draw.one(1, 2, 3), stride=draw.one(1, 1, 2), padding=draw.one(0, 1, "same", "valid"),
                 dilation=draw.one(1, 1, 2), groups=groups, bias=draw.one(True, False),
                 padding_mode=draw.one("zeros", "zeros", "reflect", "replicate", "circular"))
    return Call(normed_weight(draw, layer))


def turned_convolution(draw, x, p):
    make = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d}[x[0].dim() - 2]
    groups, stride = draw.one(1, 1, channels_of(x[0])), draw.one(1, 2, 3)
    layer = make(channels_of(x[0]), groups * draw.one(1, 2), draw.one(1, 2, 3), stride=stride, padding=draw.one(0, 1),
                 output_padding=draw.one(0, stride - 1), groups=groups, dilation=draw.one(1, 2), bias=draw.one(True, False))
    return Call(normed_weight(draw, layer))


class Symmetric(nn.Module):
    def forward(self, w):
        return w + 0.5 * w.flip(0)


def normed_weight(draw, layer, name="weight"):
    """The layer, perhaps with its weight computed of others."""
    kind = draw.one(None, None, None, "weight", "weight of all", "spectral", "old weight", "old spectral", "own")
    if kind == "weight":
        parametrizations.weight_norm(layer, name, dim=draw.one(0, 1))
    elif kind == "weight of all":
        parametrizations.weight_norm(layer, name, dim=None)
    elif kind == "spectral":
        parametrizations.spectral_norm(layer, name, n_power_iterations=draw.one(1, 2))
    elif kind == "old weight":
        torch.nn.utils.weight_norm(layer, name)
    elif kind == "old spectral":
        torch.nn.utils.spectral_norm(layer, name)
    elif kind == "own":
        parametrize.register_parametrization(layer, name, Symmetric())
    return layer


def linear(draw, x, p):
    return Call(normed_weight(draw, nn.Linear(x[0].shape[-1], draw.one(*draw.sizes), bias=draw.one(True, False))))


def bilinear(draw, x, p):
    layer = nn.Bilinear(x[0].shape[-1], x[1].shape[-1], draw.one(*draw.sizes), bias=draw.one(True, False))
    return Call(layer, lambda layer, t: layer(t[0], t[1]))


def batch_norm(draw, x, p):
    make = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[x[0].dim()]
    return Call(make(channels_of(x[0]), eps=draw.one(1e-5, 1e-2), momentum=draw.one(0.1, 0.3, 1.0), affine=draw.one(True, True, False),
                     track_running_stats=draw.one(True, True, False)))


def instance_norm(draw, x, p):
    make = {3: nn.InstanceNorm1d, 4: nn.InstanceNorm2d, 5: nn.InstanceNorm3d}[x[0].dim()]
    return Call(make(channels_of(x[0]), eps=draw.one(1e-5, 1e-2), affine=draw.one(True, False), track_running_stats=draw.one(False, False, True)))


def group_norm(draw, x, p):
    channels = channels_of(x[0])
    groups = draw.one(*(n for n in range(1, channels + 1) if channels % n == 0))
    return Call(nn.GroupNorm(groups, channels, eps=draw.one(1e-5, 1e-2), affine=draw.one(True, False)))


def layer_norm(draw, x, p):
    shape = x[0].shape[draw.dim(x[0]):]
    return Call(draw.one(lambda: nn.LayerNorm(shape, bias=draw.one(True, False)), lambda: nn.LayerNorm(shape, elementwise_affine=False),
                         lambda: nn.RMSNorm(shape, eps=draw.one(None, 1e-3)), lambda: nn.LocalResponseNorm(draw.one(2, 3)))())


def sequence(t):
    """The tensor as positions of features."""
    return t if t.dim() == 3 else t.flatten(2) if t.dim() > 3 else t[:, None]


def recurrent(draw, x, p):
    kind, size = draw.one("LSTM", "GRU", "RNN"), draw.one(*draw.sizes)
    further = {"RNN": {"nonlinearity": draw.one("tanh", "relu")}, "LSTM": {"proj_size": draw.one(0, 0, max(1, size - 1))}, "GRU": {}}[kind]
    first, layers, both = draw.one(True, False), draw.one(1, 2, 3), draw.one(True, False)
    layer = getattr(nn, kind)(sequence(x[0]).shape[-1], size, layers, bias=draw.one(True, True, False), batch_first=first,
                              bidirectional=both, **further)
    what, times = draw.one("all", "all", "last", "cells"), draw.one(1, 1, 4)
    width = further.get("proj_size") or size
    start = draw.one(None, None, p(layers * (2 if both else 1), 1, width), "zeros")

    def form(layer, t, w):
        steps = sequence(t[0]).repeat(1, times, 1)
        steps = steps if first else steps.transpose(0, 1)
        given = ()
        if isinstance(start, int):
            state = w[start].expand(-1, t[0].shape[0], -1).contiguous()
            given = (state if kind != "LSTM" else (state, state.new_zeros(state.shape[0], state.shape[1], size)),)
        elif start:
            state = steps.new_zeros(layers * (2 if both else 1), t[0].shape[0], width)
            given = (state if kind != "LSTM" else (state, steps.new_zeros(state.shape[0], state.shape[1], size)),)
        values, states = layer(steps, *given)
        if what == "all":
            return values if first else values.transpose(0, 1)
        chosen = states if kind != "LSTM" else states[1 if what == "cells" else 0]
        return chosen.transpose(0, 1)
    return WithWeights(layer, form)


class WithWeights(Call):
    def forward(self, t, w):
        return self.form(self.layer, t, w)


def cells(draw, x, p):
    """A cell that the module steps itself."""
    kind, size = draw.one(nn.LSTMCell, nn.GRUCell, nn.RNNCell), draw.one(*draw.sizes)

    def form(layer, t):
        states, state = [], None
        for step in sequence(t[0]).unbind(1):
            state = layer(step, state)
            states.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(states, 1)
    return Call(kind(sequence(x[0]).shape[-1], size, bias=draw.one(True, False)), form)


def heads_of(draw, width):
    return draw.one(*(n for n in range(1, width + 1) if width % n == 0))


def attention(draw, x, p):
    """nn.MultiheadAttention of a sequence on itself or on another, with masks of every kind."""
    q, k = sequence(x[0]), sequence(x[1])
    width = q.shape[-1]
    other = draw.one(True, False)
    first = draw.one(True, False)
    layer = nn.MultiheadAttention(width, heads_of(draw, width), bias=draw.one(True, False), add_bias_kv=draw.one(False, False, True),
                                  add_zero_attn=draw.one(False, False, True), kdim=k.shape[-1] if other else None,
                                  vdim=k.shape[-1] if other else None, batch_first=first)
    mask, hidden, needed = draw.one(None, "causal", "floats", "bools"), draw.one(False, False, True), draw.one(False, False, True, "each")
    hint = mask == "causal" and draw.one(True, False)

    def form(layer, t):
        a, b = sequence(t[0]), sequence(t[1]) if other else sequence(t[0])
        rows, columns = a.shape[1], b.shape[1]
        marks = torch.ones(rows, columns, dtype=torch.bool).triu(1)
        given = {None: None, "causal": marks, "bools": marks & (torch.arange(columns) % 2 == 1),
                 "floats": torch.linspace(-1, 1, rows * columns).reshape(rows, columns).to(a.dtype)}[mask]
        keys = None
        if hidden and columns == t[-1].shape[1]:
            keys = (t[-1] % 3 == 0) & (torch.arange(columns) > 0)
        a, b = (a, b) if first else (a.transpose(0, 1), b.transpose(0, 1))
        values, weights = layer(a, b, b, attn_mask=given, key_padding_mask=keys, need_weights=bool(needed),
                                average_attn_weights=needed != "each", is_causal=hint)
        return weights if needed else values if first else values.transpose(0, 1)
    return Call(layer, form)


def fused_attention(draw, x, p):
    """scaled_dot_product_attention with masks that are given, learned or computed, and with fewer heads of keys."""
    width, length = sequence(x[0]).shape[-1], sequence(x[0]).shape[1]
    heads = draw.one(2, 4)
    shared, each = draw.one(heads, heads // 2), draw.one(2, 3)
    q, k, v = p(heads * each, width), p(shared * each, width), p(shared * each, width)
    mask, scale = draw.one(None, "causal", "bools", "floats", "learned", "ids"), draw.one(None, None, 0.3)
    bias = p(heads, length, length) if mask == "learned" else None

    def call(t, w):
        s = sequence(t[0])
        rows, count, _ = s.shape
        parts = [F.linear(s, w[m]).reshape(rows, count, n, each).transpose(1, 2) for m, n in ((q, heads), (k, shared), (v, shared))]
        below = torch.ones(count, count, dtype=torch.bool).tril()
        given = {None: None, "causal": None, "bools": below, "learned": None if bias is None else w[bias],
                 "floats": torch.where(below, 0.0, -1e4).to(s.dtype)}.get(mask)
        if mask == "ids":
            if count != t[-1].shape[1]:
                raise ValueError("another length")
            given = (t[-1][:, :, None] % 3 == t[-1][:, None, :] % 3)[:, None]
        values = F.scaled_dot_product_attention(*parts, attn_mask=given, is_causal=mask == "causal", scale=scale, enable_gqa=shared != heads)
        return values.transpose(1, 2).flatten(2)
    return call


def transformer(draw, x, p):
    width = sequence(x[0]).shape[-1]
    settings = dict(nhead=heads_of(draw, width), dim_feedforward=draw.one(8, 16), dropout=0.0, activation=draw.one("relu", "gelu", F.silu),
                    batch_first=True, norm_first=draw.one(True, False), bias=draw.one(True, False))
    if draw.one(True, False):
        layer = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, **settings), draw.one(1, 2), enable_nested_tensor=False)
        causal = draw.one(True, False)

        def form(layer, t):
            a = sequence(t[0])
            mask = nn.Transformer.generate_square_subsequent_mask(a.shape[1]).to(a.dtype) if causal else None
            return layer(a, mask=mask, is_causal=causal)
        return Call(layer, form)
    layer = nn.TransformerDecoderLayer(width, **settings)
    return Call(layer, lambda layer, t: layer(sequence(t[0]), sequence(t[1])[..., :width] if t[1].shape[-1] >= width else sequence(t[0])))


def embedding(draw, x, p):
    layer = nn.Embedding(WORDS, x[0].shape[-1], padding_idx=draw.one(None, 0, 3, -1))
    return Call(layer, lambda layer, t: layer(t[-1]) + t[0].flatten(1, -2).mean(1)[:, None])


def bag(draw, x, p):
    mode = draw.one("sum", "mean", "max")
    layer = nn.EmbeddingBag(WORDS, x[0].shape[-1], mode=mode, padding_idx=draw.one(None, 0))
    weighed = mode == "sum" and draw.one(True, False)

    def form(layer, t):
        shares = torch.cos(t[-1].to(t[0].dtype)) if weighed else None
        return layer(t[-1], per_sample_weights=shares)[:, None] + sequence(t[0])
    return Call(layer, form)


ACTIVATIONS = (nn.ELU, nn.Hardshrink, nn.Hardsigmoid, nn.Hardtanh, nn.Hardswish, nn.LeakyReLU, nn.LogSigmoid, nn.PReLU, nn.ReLU6, nn.SELU, nn.CELU,
               nn.Mish, nn.Softshrink, nn.Softsign, nn.Tanhshrink, nn.GELU, lambda: nn.GELU("tanh"), lambda: nn.Threshold(0.1, 0.5), nn.GLU,
               lambda: nn.Softplus(2, 1), lambda: nn.LeakyReLU(-0.3), lambda: nn.ELU(0.5), lambda: nn.CELU(0.5), lambda: nn.Softmin(-1),
               lambda: nn.Hardtanh(-0.3, 0.2), nn.Softmax2d)


def activation(draw, x, p):
    made = draw.one(*ACTIVATIONS)
    layer = nn.PReLU(draw.one(1, x[0].shape[1])) if made is nn.PReLU else made()
    return Call(layer, draw.one(lambda layer, t: layer(t[0]), lambda layer, t: layer(t[0] * 4)))


def pooling(draw, x, p):
    rank = min(x[0].dim() - 2, 2)
    size, stride = draw.one(2, 3), draw.one(1, 2, None)
    name = draw.one("MaxPool", "AvgPool", "LPPool", "AdaptiveAvgPool", "AdaptiveMaxPool")
    settings = {"MaxPool": lambda: dict(kernel_size=size, stride=stride, padding=draw.one(0, 1), ceil_mode=draw.one(False, True), dilation=draw.one(1, 1, 2)),
                "AvgPool": lambda: dict(kernel_size=size, stride=stride, padding=draw.one(0, 1), ceil_mode=draw.one(False, True),
                                        count_include_pad=draw.one(True, False)),
                "LPPool": lambda: dict(norm_type=2, kernel_size=size, stride=stride, ceil_mode=draw.one(False, True)),
                "AdaptiveAvgPool": lambda: dict(output_size=draw.one(1, 2, 3)),
                "AdaptiveMaxPool": lambda: dict(output_size=draw.one(1, 2, 3))}[name]()
    shift = 3 if name == "LPPool" else 0
    return Call(getattr(nn, f"{name}{rank}d")(**settings), lambda layer, t: layer(t[0] + shift))


def resampled(draw, x, p):
    rank = x[0].dim() - 2
    mode = draw.one("nearest", *{1: ("linear",), 2: ("bilinear", "bicubic", "nearest-exact", "area"), 3: ("trilinear",)}.get(rank, ()))
    aligned = draw.one(True, False) if mode.endswith(("linear", "cubic")) else None
    size = draw.one(dict(scale_factor=2), dict(scale_factor=1.5), dict(size=5), dict(scale_factor=0.5))
    return Call(nn.Upsample(mode=mode, align_corners=aligned, **size))


def padding(draw, x, p):
    rank = min(x[0].dim() - 2, 2)
    kind = draw.one("ReflectionPad", "ReplicationPad", "ConstantPad", "CircularPad", "ZeroPad")
    return Call(getattr(nn, f"{kind}{rank}d")(draw.one(1, 2), *([0.5] if kind == "ConstantPad" else [])))


def rearranged(draw, x, p):
    layer = draw.one(nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2), nn.Unfold(2, padding=draw.one(0, 1), stride=draw.one(1, 2)),
                     nn.Flatten(draw.dim(x[0])), nn.Identity(), nn.Dropout(0.0))
    return Call(layer)


def distances(draw, x, p):
    layer = draw.one(nn.CosineSimilarity(-1), nn.PairwiseDistance(2), nn.PairwiseDistance(1, keepdim=True))
    form = draw.one(lambda layer, t: layer(t[0], t[1]), lambda layer, t: torch.cdist(t[0], t[1] + 0.1), lambda layer, t: layer(t[0], t[1]))
    return Call(layer, form)


def repeated_layer(draw, x, p):
    """One layer called twice, or a residual block."""
    width = x[0].shape[-1]
    layer = nn.Sequential(nn.LayerNorm(width), normed_weight(draw, nn.Linear(width, width)), draw.one(nn.ReLU, nn.GELU, nn.Tanh)())
    return Call(layer, draw.one(lambda layer, t: layer(layer(t[0])), lambda layer, t: t[0] + layer(t[0]), lambda layer, t: layer(t[0]) * layer(t[0] * 2)))


LAYERS = {
    "convolution": convolution, "convolution again": convolution, "turned convolution layer": turned_convolution, "linear layer": linear,
    "bilinear": bilinear, "batch norm": batch_norm, "instance norm": instance_norm, "group norm": group_norm, "layer norm": layer_norm,
    "recurrent": recurrent, "recurrent again": recurrent, "cells": cells, "multi-head attention": attention, "fused attention": fused_attention,
    "transformer": transformer, "embedding layer": embedding, "bag": bag, "activation": activation, "pooling": pooling, "resampled": resampled,
    "padding": padding, "rearranged": rearranged, "distances": distances, "repeated layer": repeated_layer,
}
# Those that keep a sequence of features, mostly.
SEQUENCE_LAYERS = ("linear layer", "layer norm", "multi-head attention", "fused attention", "transformer", "embedding layer",
                   "activation", "repeated layer", "recurrent", "convolution", "batch norm")
