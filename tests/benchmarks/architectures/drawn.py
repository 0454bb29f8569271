# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules, exported, compiled under a random plan and trained, against PyTorch in double precision (run.py).

A module is drawn as a list of calls. Each takes tensors that are there, parameters of its own or of calls before it, and is
tried on an example: what PyTorch refuses is drawn again. So parameters are shared, transposed and sliced, and values have many
readers, as in no module that somebody writes. Each number is a module; a row that is far off names its calls.

    build/export/bin/python tests/benchmarks/architectures/drawn.py 200              # of the numbers 0 to 199
    build/export/bin/python tests/benchmarks/architectures/drawn.py 1 --first 17 --plans dp=1 tp=2
"""
import argparse
import logging
import random
import sys
import warnings

import torch
import torch.nn.functional as F

import run  # noqa: I001 - it says where `measure` is
import measure
import zoo
from drawn_layers import LAYERS, SEQUENCE_LAYERS
from drawn_losses import LOSSES
from zoo.registry import WORDS, Architecture, classes, fields, numbers

PLANS = ["dp=1", "dp=1 --microbatches=2", "dp=1 --recompute=full", "dp=2", "dp=2 --zero=1", "dp=2 --zero=3", "dp=4 --zero=2",
         "tp=2", "tp=3", "tp=4", "dp=2,tp=2", "dp=2,tp=2 --zero=3", "pp=2 --microbatches=2", "pp=2,tp=2 --microbatches=4",
         "search=2", "search=4"]
LAYER_PLANS = [*PLANS, "search=4"]
TOKEN_PLANS = ["cp=2", "dp=2,cp=2", "cp=2,tp=2", "cp=2 --cp-attention=ring", "search=4", "dp=2", "dp=1 --microbatches=2", "tp=2", "pp=2 --microbatches=2"]
ROWS = 4


class Draw:
    """Choices of one module, from its number."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.sizes = self.random.sample([2, 3, 4, 5, 6, 8, 12], 3)

    def one(self, *choices):
        return self.random.choice(choices)

    def dim(self, x, first=1):
        """A dimension of x that is not that of the samples."""
        return self.random.randrange(first, x.dim())

    def order(self, x):
        return (0, *self.random.sample(range(1, x.dim()), x.dim() - 1))


def factored(size, draw):
    """Two sizes whose product is `size`."""
    first = draw.one(*(n for n in range(1, size + 1) if size % n == 0))
    return first, size // first


# A call: from the draw, the operands, and a maker of parameters to a function of the operands and parameters. Functions take
# (tensors, parameters); what they depend on besides is drawn before.
def unary(name):
    return lambda draw, x, p: lambda t, w: getattr(torch, name)(t[0])


def of_dim(function):
    """A function of a tensor and of one dimension, which is not that of the samples."""
    def drawn(draw, x, p):
        d = draw.dim(x[0])
        return lambda t, w: function(t[0], d)
    return drawn


def linear(draw, x, p):
    out = draw.one(*draw.sizes)
    weight, bias = p(out, x[0].shape[-1]), p(out)
    return lambda t, w: F.linear(t[0], w[weight], w[bias])


def product(draw, x, p):
    weight = p(x[0].shape[-1], draw.one(*draw.sizes))
    return lambda t, w: t[0] @ w[weight]


def turned_product(draw, x, p):
    weight = p(draw.one(*draw.sizes), x[0].shape[-1])
    return lambda t, w: t[0] @ w[weight].T


def symmetric_product(draw, x, p):
    size = x[0].shape[-1]
    weight = p(size, size)
    form = draw.one(lambda w: w + w.T, lambda w: w - w.flip(0), lambda w: w @ w.T, lambda w: torch.tril(w) + w,
                    lambda w: w + w.roll(1, 0), lambda w: torch.softmax(w, 0), lambda w: w / (1 + w.norm()))
    return lambda t, w: t[0] @ form(w[weight])


def per_cell(draw, x, p):
    """A parameter of the trailing dimensions, added, multiplied or blended."""
    shape = x[0].shape[draw.dim(x[0]):]
    weight = p(*(draw.one(n, n, 1) for n in shape))
    form = draw.one(torch.add, torch.mul, torch.sub, lambda a, b: torch.where(a > b, a, b * a), lambda a, b: a / (1 + b * b),
                    lambda a, b: torch.lerp(a, b.expand_as(a), 0.3))
    return lambda t, w: form(t[0], w[weight])


def both(draw, x, p):
    form = draw.one(torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.hypot,
                    lambda a, b: a * torch.sigmoid(b), lambda a, b: torch.where(b > 0, a, b), lambda a, b: torch.atan2(a, b.abs() + 1),
                    lambda a, b: a + b.detach() * b, lambda a, b: torch.addcmul(a, a, b, value=0.5))
    return lambda t, w: form(t[0], t[1])


def joined(draw, x, p):
    d, times = draw.dim(x[0]), draw.one(1, 2)
    return lambda t, w: torch.cat([t[0], t[1]] * times, d)


def stacked(draw, x, p):
    d = draw.dim(x[0])
    return lambda t, w: torch.stack([t[0], t[1]], d)


def batched_product(draw, x, p):
    return lambda t, w: t[0] @ t[1].transpose(-1, -2)


def permuted(draw, x, p):
    order = draw.order(x[0])
    return lambda t, w: t[0].permute(order)


def reshaped(draw, x, p):
    d = draw.dim(x[0])
    shape = [*x[0].shape[1:d], *factored(x[0].shape[d], draw), *x[0].shape[d + 1:]]
    return lambda t, w: t[0].reshape(-1, *shape)


def flattened(draw, x, p):
    d = draw.dim(x[0])
    return lambda t, w: t[0].flatten(d)


def sliced(draw, x, p):
    d = draw.dim(x[0])
    size = x[0].shape[d]
    begin, step = draw.random.randrange(size), draw.one(1, 1, 2)
    end = draw.random.randrange(begin, size) + 1
    return lambda t, w: t[0][(slice(None),) * d + (slice(begin, end, step),)]


def picked(draw, x, p):
    d = draw.dim(x[0])
    places = [draw.random.randrange(x[0].shape[d]) for _ in range(draw.one(1, 2, 5))]
    return lambda t, w: t[0].index_select(d, torch.tensor(places))


def halves(draw, x, p):
    d = draw.dim(x[0])
    form = draw.one(lambda a, b: a * torch.sigmoid(b), torch.sub, lambda a, b: torch.cat([-b, a], d), torch.mul)
    return lambda t, w: form(*t[0].chunk(2, d))


def normed(draw, x, p):
    size = x[0].shape[-1]
    weight, bias = p(size), p(size)
    form = draw.one(lambda t, a, b: F.layer_norm(t, (size,), 1 + a, b), lambda t, a, b: F.rms_norm(t, (size,), 1 + a, 1e-5),
                    lambda t, a, b: F.layer_norm(t, (size,)))
    return lambda t, w: form(t[0], w[weight], w[bias])


def attention(draw, x, p):
    size = x[0].shape[-1]
    heads, each = factored(size, draw)
    weight, causal = p(3 * size, size), draw.one(True, False)

    def call(t, w):
        rows, length, _ = t[0].shape
        q, k, v = F.linear(t[0], w[weight]).chunk(3, -1)
        parts = (a.reshape(rows, length, heads, each).transpose(1, 2) for a in (q, k, v))
        return F.scaled_dot_product_attention(*parts, is_causal=causal).transpose(1, 2).reshape(rows, length, size)
    return call


def written_attention(draw, x, p):
    """Attention over a dimension by hand, with a mask or none."""
    size = x[0].shape[-1]
    q, k = p(size, size), p(size, size)
    mask = draw.one(None, torch.triu, torch.tril)

    def call(t, w):
        scores = (t[0] @ w[q]) @ (t[0] @ w[k]).transpose(-1, -2) / size ** 0.5
        if mask:
            scores = scores.masked_fill(mask(torch.ones(scores.shape[-2:])) == 0, -1e9)
        return scores.softmax(-1) @ t[0]
    return call


def convolved(draw, x, p):
    channels, groups = x[0].shape[1], draw.one(1, 1, x[0].shape[1])
    out, width = groups * draw.one(1, 2, 3), draw.one(1, 2, 3)
    weight, stride, padding = p(out, channels // groups, width), draw.one(1, 1, 2), draw.one(0, 1)
    return lambda t, w: F.conv1d(t[0], w[weight], stride=stride, padding=padding, groups=groups)


def pooled(draw, x, p):
    form = draw.one(lambda t: F.avg_pool1d(t, 2, 1), lambda t: F.max_pool1d(t, 2), lambda t: F.adaptive_avg_pool1d(t, 2))
    return lambda t, w: form(t[0])


def padded(draw, x, p):
    before, behind, value = draw.one(0, 1, 2), draw.one(0, 1, -1), draw.one(0.0, 0.5)
    return lambda t, w: F.pad(t[0], (before, behind), value=value)


def embedded(draw, x, p):
    """Rows of a table for the ids, blended with what the operand says of a sample."""
    table = p(WORDS, x[0].shape[-1])
    return lambda t, w: F.embedding(t[-1], w[table]) + t[0].flatten(1, -2).mean(1)[:, None]


def gathered(draw, x, p):
    """Cells of the last dimension at places that the ids say."""
    size = x[0].shape[-1]
    return lambda t, w: t[0].gather(-1, (t[-1] % size)[(...,) + (None,) * (t[0].dim() - 2)].expand(
        *t[0].shape[:-1], 1))


def summed(draw, x, p):
    """An einsum of a parameter with any one dimension."""
    d = draw.dim(x[0])
    letters = "bcdefg"[:x[0].dim()]
    weight = p(x[0].shape[d], draw.one(*draw.sizes))
    text = f"{letters},{letters[d]}z->{letters.replace(letters[d], 'z') if draw.one(True, False) else letters.replace(letters[d], '') + 'z'}"
    return lambda t, w: torch.einsum(text, t[0], w[weight])


def one_hot(draw, x, p):
    """Rows of a table by a product with ones and zeros, as language models once were written."""
    count = draw.one(3, 5, 7)
    table = p(count, draw.one(*draw.sizes))
    return lambda t, w: F.one_hot(t[-1] % count, count).to(t[0].dtype) @ w[table] + t[0].flatten(1).mean(1)[:, None, None]


def rows_by_id(draw, x, p):
    """Rows of the second dimension at places that the ids say."""
    size, rows = x[0].shape[1], x[0].shape[2:]
    return lambda t, w: t[0].gather(1, (t[-1] % size).reshape(*t[-1].shape, *[1] * len(rows)).expand(-1, -1, *rows))


def scattered(draw, x, p):
    """Rows summed up at places that the ids say."""
    size, rows = draw.one(2, 5), x[0].shape[2:]
    return lambda t, w: torch.zeros_like(t[0][:, :1]).repeat(1, size, *[1] * len(rows)).scatter_add(
        1, (t[-1] % size).reshape(*t[-1].shape, *[1] * len(rows)).expand(-1, -1, *rows), t[0])


def alike(draw, x, p):
    """A mean over positions whose ids are alike."""
    count = draw.one(2, 3)

    def call(t, w):
        kinds = t[-1] % count
        same = (kinds[:, :, None] == kinds[:, None, :]).to(t[0].dtype)
        return (same / same.sum(-1, keepdim=True)) @ t[0]
    return call


def masked(draw, x, p):
    """Positions by their ids: left out, or of another value."""
    weight, least = p(1), draw.one(10, 30)
    form = draw.one(lambda t, m, w: t.masked_fill(m, 0.5), lambda t, m, w: torch.where(m, t * w, t), lambda t, m, w: t * m,
                    lambda t, m, w: (t * m).sum(1, keepdim=True) / (m.sum(1, keepdim=True) + 1) + w)
    return lambda t, w: form(t[0], (t[-1] > least).reshape(*t[-1].shape, *[1] * (t[0].dim() - 2)), w[weight])


def convolved_image(draw, x, p):
    channels = x[0].shape[1]
    groups = draw.one(1, 1, channels)
    weight = p(groups * draw.one(1, 2), channels // groups, draw.one(1, 2, 3), draw.one(1, 2, 3))
    stride, padding = draw.one(1, 2), draw.one(0, 1)
    return lambda t, w: F.conv2d(t[0], w[weight], stride=stride, padding=padding, groups=groups)


def turned_convolution(draw, x, p):
    weight, stride = p(x[0].shape[1], draw.one(1, 2, 3), draw.one(2, 3)), draw.one(1, 2)
    return lambda t, w: F.conv_transpose1d(t[0], w[weight], stride=stride)


def group_normed(draw, x, p):
    groups, each = factored(x[0].shape[1], draw)
    weight = p(groups * each)
    return lambda t, w: F.group_norm(t[0], groups, 1 + w[weight])


def two_products(draw, x, p):
    """An einsum of two values, over dimensions that both have."""
    text = draw.one("bij,bkj->bik", "bij,bij->bi", "bij,bij->bj", "bij,bkj->bijk", "bij,bik->bjk", "bij,bkl->bil")
    return lambda t, w: torch.einsum(text, t[0], t[1])


def windows(draw, x, p):
    d = draw.dim(x[0])
    size, step = draw.one(1, 2, 3), draw.one(1, 2)
    return lambda t, w: t[0].unfold(d, size, step)


def stretched(draw, x, p):
    mode = draw.one("nearest", "linear")
    return lambda t, w: F.interpolate(t[0], scale_factor=2, mode=mode)


def stepped(draw, x, p):
    """A recurrence that is written out over the positions."""
    size = x[0].shape[-1]
    weight, start = p(size, size), p(size)

    def call(t, w):
        state, states = w[start].expand(t[0].shape[0], -1), []
        for i in range(t[0].shape[1]):
            state = torch.tanh(state @ w[weight] + t[0][:, i])
            states.append(state)
        return torch.stack(states, 1)
    return call


def own_gradient(draw, x, p):
    """A value of one tensor with the gradient of another."""
    form = draw.one(lambda t: t + (t.sign() - t).detach(), lambda t: torch.round(t * 4).detach() / 4 - t.detach() + t)
    return lambda t, w: form(t[0])


def indexed_weight(draw, x, p):
    """A row or column of a matrix of parameters, beside the whole of it."""
    size = x[0].shape[-1]
    weight, row = p(size, size), draw.random.randrange(size)
    form = draw.one(lambda w: w[row], lambda w: w[:, row], lambda w: w.diagonal(), lambda w: w.flatten()[::size + 1], lambda w: w.mean(0))
    return lambda t, w: t[0] @ w[weight] + form(w[weight])


def frozen(draw, x, p):
    """A part that gradients do not pass, or that lies in a block without gradients."""
    weight = p(x[0].shape[-1])

    def blocked(t, w):
        with torch.no_grad():
            share = torch.sigmoid(t * w)
        return share * t + w
    form = draw.one(lambda t, w: t.detach() * w, lambda t, w: t + (t * w).detach(), blocked)
    return lambda t, w: form(t[0], w[weight])


CALLS = {
    "tanh": unary("tanh"), "sigmoid": unary("sigmoid"), "sin": unary("sin"), "relu": unary("relu"), "square": unary("square"),
    "erf": unary("erf"), "atan": unary("atan"), "abs": unary("abs"),
    "gelu": lambda draw, x, p: lambda t, w: F.gelu(t[0]), "silu": lambda draw, x, p: lambda t, w: F.silu(t[0]),
    "elu": lambda draw, x, p: lambda t, w: F.elu(t[0]), "softplus": lambda draw, x, p: lambda t, w: F.softplus(t[0]),
    "clamp": lambda draw, x, p: lambda t, w: t[0].clamp(-0.7, 0.9),
    "reciprocal": lambda draw, x, p: lambda t, w: 1 / (1.5 + t[0].square()),
    "log": lambda draw, x, p: lambda t, w: torch.log1p(t[0].square()),
    "root": lambda draw, x, p: lambda t, w: torch.rsqrt(t[0].square() + 0.5),
    "softmax": of_dim(torch.softmax), "log_softmax": of_dim(torch.log_softmax), "cumsum": of_dim(torch.cumsum),
    "flip": of_dim(lambda t, d: t.flip(d)), "roll": of_dim(lambda t, d: t.roll(1, d)),
    "mean": of_dim(lambda t, d: t.mean(d)), "kept mean": of_dim(lambda t, d: t - t.mean(d, keepdim=True)),
    "sum": of_dim(lambda t, d: t.sum(d)), "amax": of_dim(lambda t, d: t.amax(d)), "deviation": of_dim(lambda t, d: t.var(d, correction=0)),
    "logsumexp": of_dim(lambda t, d: t.logsumexp(d)), "norm": of_dim(lambda t, d: (t.square().sum(d) + 0.1).sqrt()),
    "normalize": of_dim(lambda t, d: F.normalize(t + 0.1, dim=d)), "repeat": of_dim(lambda t, d: t.repeat_interleave(2, d)),
    "unsqueeze": of_dim(lambda t, d: t.unsqueeze(d)), "squares": of_dim(lambda t, d: t.cumsum(d) * t),
    "differences": of_dim(lambda t, d: t.diff(dim=d)), "select": of_dim(lambda t, d: t.select(d, t.shape[d] - 1)),
    "top": of_dim(lambda t, d: t.topk(min(2, t.shape[d]), d).values), "sort": of_dim(lambda t, d: t.sort(d).values),
    "linear": linear, "product": product, "turned product": turned_product, "symmetric product": symmetric_product,
    "per cell": per_cell, "both": both, "both again": both, "joined": joined, "stacked": stacked, "batched product": batched_product,
    "permuted": permuted, "reshaped": reshaped, "flattened": flattened, "sliced": sliced, "picked": picked, "halves": halves,
    "normed": normed, "attention": attention, "written attention": written_attention, "convolved": convolved, "pooled": pooled,
    "padded": padded, "embedded": embedded, "gathered": gathered, "summed": summed, "frozen": frozen, "one hot": one_hot, "rows by id": rows_by_id, "scattered": scattered,
    "alike": alike, "masked": masked, "convolved image": convolved_image, "turned convolution": turned_convolution,
    "group normed": group_normed, "two products": two_products, "windows": windows, "stretched": stretched, "stepped": stepped,
    "own gradient": own_gradient, "indexed weight": indexed_weight,
    "cumprod": of_dim(lambda t, d: torch.cumprod(torch.tanh(t) + 1, d)), "prod": of_dim(lambda t, d: (torch.tanh(t) + 1).prod(d)),
    "median": of_dim(lambda t, d: t.kthvalue(1, d).values), "cummax": of_dim(lambda t, d: t.cummax(d).values),
    "pairs": of_dim(lambda t, d: t.unsqueeze(d) - t.unsqueeze(d + 1)), "glu": of_dim(lambda t, d: F.glu(t, d)),
    "softmin": of_dim(lambda t, d: F.softmin(t, d)), "numbers": of_dim(lambda t, d: t * torch.arange(t.shape[d], dtype=t.dtype).reshape(
        [-1 if i == d else 1 for i in range(t.dim())])),
}
# What is drawn: calls, and losses of the last value.
KINDS = {"functions": (CALLS, None), "layers": ({**CALLS, **LAYERS} , None), "losses": ({"linear": linear, "tanh": CALLS["tanh"], **LAYERS}, LOSSES),
         "tokens": ({"linear": linear, "tanh": CALLS["tanh"], **{name: LAYERS[name] for name in SEQUENCE_LAYERS}}, LOSSES)}
MOST_CELLS = 4096  # of a value, for each of which PyTorch is asked


class Drawn(torch.nn.Module):
    """The module of a number. Its loss is a mean over samples."""

    def __init__(self, number, kind="functions"):
        super().__init__()
        draw = Draw(number)
        self.vocabulary, losses = KINDS[kind]
        self.weights, self.layers = torch.nn.ParameterList(), torch.nn.ModuleList()
        self.calls, self.names, self.own_loss, self.enter = [], [], None, None
        length, width = draw.sizes[:2]
        if kind == "tokens":
            length *= 1 if length % 2 == 0 else 2  # ranks split it
        self.shape, self.length = (length, width), length
        with torch.random.fork_rng():
            torch.manual_seed(number)
            x, ids = torch.randn(ROWS, length, width), torch.randint(WORDS, (ROWS, length))
            if kind == "tokens":
                self.enter = torch.nn.Embedding(WORDS, width)
                x = self.enter(ids)
            values = [x]
            for _ in range(draw.random.randrange(2, 13)):
                self.add(draw, values, ids)
            while not self.weights or not values[-1].requires_grad:
                self.add(draw, values, ids)
        self.last = draw.random.sample(range(len(values)), min(len(values), draw.one(0, 1, 2)))
        while losses and self.own_loss is None:
            self.add_loss(draw, losses, values[-1], ids)

    def add(self, draw, values, ids):
        """Draws calls until PyTorch takes one."""
        while True:
            name = draw.one(*self.vocabulary)
            # Mostly what came last, so that calls lie one behind another.
            operands = [draw.random.randrange(max(0, len(values) - draw.one(1, 1, 2, 9)), len(values)) for _ in range(2)]
            tensors = [*(values[i] for i in operands), ids]
            fresh = []

            def parameter(*shape):
                alike = [i for i, w in enumerate(self.weights) if w.shape == shape]
                if alike and draw.one(True, False):
                    return draw.one(*alike)
                fresh.append(torch.nn.Parameter(torch.randn(shape) * (shape[-1] if len(shape) > 1 else 4) ** -0.5))
                return len(self.weights) + len(fresh) - 1

            try:
                call = self.vocabulary[name](draw, tensors, parameter)
                value = call(tensors, [*self.weights, *fresh])
            except (RuntimeError, IndexError, TypeError, ValueError, KeyError, AttributeError, AssertionError):
                continue
            if value.dim() > 5 or value.dim() < 2 or value.shape[0] != ROWS or not 0 < value.numel() <= MOST_CELLS:
                continue
            spread = value.detach().double().std().item() if value.numel() > 1 else 1.0
            if not 1e-4 < spread < 1e4:
                continue
            factor = float(f"{1 / spread:.2g}")
            self.weights.extend(fresh)
            if isinstance(call, torch.nn.Module):
                self.layers.append(call)
            self.calls.append((call, operands, factor))
            self.names.append(f"{len(values)}: {name} of {', '.join(map(str, operands))} {list(value.shape)}")
            values.append(value * factor)
            return

    def add_loss(self, draw, losses, last, ids):
        """One of LOSSES that PyTorch takes, with a gradient."""
        name = draw.one(*losses)
        loss, scores, numbers = losses[name](draw), last.detach().flatten(1).requires_grad_(), torch.tensor([[0.3, -0.2]] * ROWS)
        try:
            value = loss(scores, ids, numbers).mean()
            gradient, = torch.autograd.grad(value, scores)
        except (RuntimeError, IndexError, TypeError, ValueError):
            return
        if 1e-3 < abs(value.item()) < 1e3 and 1e-4 < gradient.norm().item() < 1e3:
            self.own_loss, self.factor = loss, float(f"{1 / max(1.0, gradient.norm().item()):.2g}")
            self.names.append(f"loss: {name} {getattr(loss, 'said', '')}")

    def forward(self, x, ids, y):
        values = [x if self.enter is None else self.enter(ids)]
        for call, operands, factor in self.calls:
            values.append(call([*(values[i] for i in operands), ids], list(self.weights)) * factor)
        if self.own_loss is not None:
            return self.own_loss(values[-1].flatten(1), ids, y).mean() * self.factor
        errors = [(torch.tanh(values[i].flatten(1).mean(1)) - y[:, 0]).square() for i in self.last]
        return (sum(errors) + torch.tanh(values[-1].flatten(1) - y[:, 1:2]).square().mean(1)).mean()


def architecture(number, kind="functions"):
    module = Drawn(number, kind)
    inputs = fields(x=numbers(*module.shape), ids=classes(WORDS, module.length), y=numbers(2))
    return Architecture(lambda: Drawn(number, kind), inputs, None, "drawn"), module.names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, default="functions", help="what is drawn: functions, with layers, or layers with losses")
    parser.add_argument("--plans", nargs="+", help="default: two of a list, drawn")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    counts = {}
    for number in range(arguments.first, arguments.first + arguments.count):
        name = f"drawn-{number}"
        zoo.ARCHITECTURES[name], calls = architecture(number, arguments.kind)
        kinds = {"functions": PLANS, "tokens": TOKEN_PLANS}
        chosen = arguments.plans or random.Random(number).sample(kinds.get(arguments.kind, LAYER_PLANS), 2)
        for row in run.rows_of(name, chosen, "sgd"):
            # Gradients that cancel are rounding, which moves no loss.
            if row["status"] == "far" and row["loss"] <= run.REACH and row["gradient_norm"] <= 100 * row["torch_gradient_norm"]:
                row["status"] = "rounded"
            if row.get("stage") == "torch":
                row["status"] = "not run by PyTorch"
            counts[row["status"]] = counts.get(row["status"], 0) + 1
            if row["status"] not in ("good", "rounded", "not run by PyTorch"):
                measure.emit(**row, calls=calls)
        del zoo.ARCHITECTURES[name]
    measure.note(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return 1 if counts.keys() & {"far", "failed"} else 0


if __name__ == "__main__":
    sys.exit(main())
