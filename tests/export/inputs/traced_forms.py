# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with calls that PyTorch's exporter has no translation for, or one that fails, and that tools/export therefore writes
out or keeps from the trace. How it is called: against_torch.py."""
import sys

import numpy
import torch
from torch import nn

import against_torch

LENGTH, WIDTH, WORDS = 6, 8, 20


def complex_rotary(self, x):
    """Positions turned as complex numbers; a factor beside them is real."""
    angles = torch.arange(x.shape[1], dtype=torch.float32)[:, None] * torch.tensor([1.0, 0.3])
    turns = (torch.polar(torch.ones_like(angles), angles) * 1.5)[None].unsqueeze(2)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:2], 2, 2, 2))
    return torch.view_as_real(pairs * turns * x.new_tensor([0.5, 2.0])).flatten(2)


def chunk_of_symbol(self, x):
    """Streams of one length that lie behind each other, as ProphetNet's."""
    first, *others = torch.cat([x, torch.tanh(x), x * x], 1).chunk(3, 1)
    return first + others[0] * others[1]


def chunk_of_unequal_parts(self, x):
    """Four pieces of six positions are three: the module takes sequences of that length alone."""
    parts = x.chunk(4, 1)
    return torch.cat([torch.tanh(part) * i for i, part in enumerate(parts)], 1)


def number_first(self, x):
    return x * torch.add(0.25, x > 0, alpha=0.5) + torch.add(2, x)


def uniform_numbers(self, x):
    """Bounds that leave one number alone."""
    return x * torch.empty_like(x).uniform_(1.5, 1.5)


def counted_down(self, x):
    """A step that is no integer: the exporter computes the length of the range in floats."""
    return x * torch.arange(x.shape[1], 0, -1.0)[:, None] + torch.arange(x.shape[1], -x.shape[1], -2.0, dtype=torch.int64)[:, None]


def greatest_of_windows(self, x):
    """Adaptive windows of one size, and of the whole, as attention over channels has (CBAM)."""
    image = x.unsqueeze(1)[..., :6, :]
    quarters = nn.functional.adaptive_max_pool2d(image, (3, 2)).squeeze(1).repeat(1, 2, 4)
    return x * quarters + nn.functional.adaptive_max_pool2d(image, 1).squeeze(1)


def greatest_of_unequal_windows(self, x):
    """Adaptive windows that overlap, more of them than cells, and of volumes."""
    wide = nn.functional.adaptive_max_pool2d(x.unsqueeze(1), (4, 11)).squeeze(1)
    line, places = nn.functional.adaptive_max_pool1d(x, 5, return_indices=True)
    volume = nn.functional.adaptive_max_pool3d(x.reshape(x.shape[0], 1, LENGTH, 2, 4), (4, 2, 3))
    return x * (wide.mean((1, 2)) + (line * places).mean((1, 2)) + volume.square().mean((1, 2, 3, 4)))[:, None, None]


def sum_over_alignments(self, x):
    """ctc_loss of labels with repetitions in rows, and of a vector whose lengths are numbers, one of them 0."""
    steps = x.transpose(0, 1).log_softmax(-1)
    labels = (x[:, :3, 0].detach() > 0).long() + 1
    lengths = labels[:, 1] + 1
    losses = nn.CTCLoss(zero_infinity=True)(steps, labels, lengths + 2, lengths)
    numbers = nn.functional.ctc_loss(steps, torch.tensor([1, 1, 2, 7, 6]), (6, 4, 3, 4), (2, 1, 0, 2), blank=3, reduction="none")
    return x * (losses + numbers[:, None, None])


def hypotenuse(self, x):
    return torch.hypot(x, x.roll(1, -1) + 1)


def moved_layer(self, x):
    """A layer that forward gives the type that it has, as Switch Transformers' routers do."""
    self.out = self.out.to(torch.promote_types(self.out.weight.dtype, torch.float32))
    return x


def expanded_buffer(self, x):
    """A buffer whose cells are one in memory, which cannot be written to."""
    return nn.functional.conv1d(x.transpose(1, 2), self.kernel.to(x.dtype), padding=1, groups=x.shape[2]).transpose(1, 2) + x


def nothing_to_squeeze(self, x):
    """Dimensions of more than one cell stay."""
    return x.squeeze(1) * x[:, :1].squeeze((0, 1, 2)).mean(-1)[:, None, None] + x.mean(-1).squeeze(-1)[..., None]


def nothing_to_flatten(self, x):
    """A call that returns its operand, of which nothing comes in the end, beside a region without gradients: PyTorch's trace
    forgets who reads that operand."""
    x.flatten(1, -2).mean(1)
    with torch.no_grad():
        share = torch.sigmoid(x)
    return share * x


def running(self, x):
    return torch.cumprod(torch.tanh(x) + 1, 1) + x.cummax(1).values - x.cummin(-1).values * torch.cumprod(torch.cos(x), -1)


def least_of_some(self, x):
    ordered = torch.sort(x, dim=1, stable=True, descending=True)
    return x.kthvalue(2, -1, keepdim=True).values * x + x.median(1, keepdim=True).values + ordered.values * ordered.indices


def chosen_of_two(self, x):
    return torch.copysign(x, x.roll(1, -1)) - torch.copysign(x, -2.0) + torch.fmax(x, x.flip(-1)) * torch.fmin(x, -x)


def counted_smaller(self, x):
    bounds = torch.tensor([-1.0, 0.0, 0.5])
    return x * (torch.searchsorted(bounds, x) + torch.searchsorted(bounds, x.detach(), right=True))


def beside_each_other(self, x):
    both = torch.hstack([x, torch.tanh(x)])[:, ::2] + torch.dstack([x, x * x])[..., 4:4 + WIDTH]
    return both @ torch.vstack([self.out.weight, self.out.weight * 2]).repeat(WIDTH // 2, 1)


def more_than_places(self, x):
    """The places are fewer than the numbers. No gradient passes: PyTorch has none here."""
    places = torch.tensor([1, 0, 1])[None, :, None].expand(x.shape[0], 3, WIDTH)
    return x * (torch.zeros_like(x).scatter_add(1, places, (x * x).detach()) + torch.zeros_like(x).scatter(1, places[:, :2], x.detach()))


def in_double(self, x):
    """A part in double precision, which the step computes in single."""
    return (x.double().cumsum(-1) * torch.linspace(0, 1, WIDTH, dtype=torch.float64)).to(x.dtype)


def gaussian_loss(self, x):
    """Its variances are of each cell, of each position, and one number; some are below the least that counts."""
    variances = nn.functional.relu(x.roll(1, -1))
    return x * (nn.GaussianNLLLoss(eps=0.1)(x, x.flip(1), variances) + nn.functional.gaussian_nll_loss(x, x.flip(1), 0.5, full=True) +
                nn.functional.gaussian_nll_loss(x, x.flip(1), variances.mean(-1) + 1, reduction="sum") / x.numel())


def weighted_and_smoothed(self, x):
    """Cross entropy with class weights, smoothing and labels that do not count, and its three reductions."""
    labels, weights = (x[..., 0] > 0).long() * 3, torch.linspace(0.5, 2.0, WIDTH, dtype=x.dtype)
    losses = [nn.functional.cross_entropy(x.transpose(1, 2), labels, weights, ignore_index=ignored, reduction=reduction, label_smoothing=0.2)
              for ignored, reduction in ((0, "mean"), (-100, "sum"), (3, "none"), (-100, "mean"))]
    return x * (losses[0] + losses[1] / 24 + losses[2].mean() + losses[3])


def tails(self, x):
    """Logarithms of sigmoids and sums of powers that are nearly 0, or far below what a float's exponent reaches."""
    far = nn.functional.logsigmoid(x - 120) + torch.logaddexp(x - 120, 2 * x - 121) + torch.logaddexp2(150 + x, 150 - x)
    near = nn.functional.logsigmoid(x + 14) + nn.functional.soft_margin_loss(x + 15, torch.ones_like(x), reduction="none")
    return x * far / 100 + 1e5 * near


def gamma_functions(self, x):
    """Positive operands, near the zeros of lgamma at 1 too, and negative ones."""
    positive = torch.lgamma(x.exp()) + torch.digamma(x.square() + 1) + torch.special.gammaln(1 + 0.001 * x) + torch.lgamma(50 + x)
    negative = torch.lgamma(-2.5 + torch.tanh(x) * 0.4) + torch.special.digamma(torch.tanh(x) * 0.4 - 0.5)
    return x * (positive + negative + torch.mvlgamma(x.abs() + 1.5, 3)) / 100


def special_functions(self, x):
    """Operands in every range of the approximations, with signs, at 0, and near the ends."""
    inside = torch.tanh(x) * 0.999
    quantiles = torch.special.ndtri(torch.sigmoid(x)) + torch.special.ndtri(torch.sigmoid(4 * x - 8)) / 10
    inverse = torch.erfinv(inside) + torch.special.erfinv(inside ** 3) + (inside * 0.5).erfinv_()
    bessel = torch.i0(x) + torch.special.i1(3 * x) / 10 + torch.special.i0e(4 * x) + torch.special.i1e(x - x)
    return x * (quantiles + inverse + bessel + torch.special.i0(inside * 20) / 1e7 + torch.special.i1e(8 * x)) / 10


def unrolled(self, x):
    """A loop of so many calls that the export takes each apart by itself: a number less a tensor, several results, and what a
    region without gradients moves to another type."""
    with torch.no_grad():
        state = torch.tanh(x[:, 0].to(torch.float64)).to(x.dtype)
    for step in range(60):
        both = torch.sigmoid(torch.cat([state, x[:, step % LENGTH]], -1))
        gate, value = both[:, :WIDTH], both[:, WIDTH:]
        state = gate * state + (1 - gate) * torch.tanh(value - state)
    return x * state.unsqueeze(1) + torch.stack(torch.broadcast_tensors(state, state[:1])).mean()


def statistics(self, x):
    rows, weights = x[0], torch.linspace(0.5, 1, WIDTH, dtype=x.dtype)
    spread = rows.cov(correction=0) + torch.cov(rows, fweights=torch.arange(1, WIDTH + 1), aweights=weights)
    return x * (spread @ torch.corrcoef(rows)).sum(1)[:, None] + torch.cov(x[1, 0])


def extremes_of_all(self, x):
    least, greatest = torch.aminmax(x * x)
    return x / torch.amax(x.abs()) - x.amin(keepdim=True) + least * greatest


def of_many(self, x):
    """torch.func.vmap over stacked weights, one in another, with a part that is held back."""
    weights = torch.stack([self.out.weight, self.out.weight * 2 + 1])

    def of_one(weight):
        return torch.func.vmap(lambda row: torch.sigmoid(row * weight) * torch.tanh(row * weight).detach())(x)
    return torch.func.vmap(of_one)(weights).sum(0)


def drawn(self, x):
    """Random numbers of which something is known: the mean of permuted positions, and numbers without deviation, whose mean
    gets no gradient."""
    return x[:, torch.randperm(LENGTH)].mean(1, keepdim=True) + x * torch.normal(x, 0.0)


def attention_of_any_shape(self, x):
    """Without heads, and with two dimensions before them, under masks of several shapes."""
    attend, causal = nn.functional.scaled_dot_product_attention, torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    windows = torch.stack([x, torch.tanh(x)], 1).unflatten(-1, (2, WIDTH // 2)).transpose(2, 3)
    near = (torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)).abs() < torch.tensor([2, 4])[:, None, None, None]
    seen = (x.sum(-1, keepdim=True) > -9).transpose(1, 2).expand(-1, LENGTH, -1)
    whole = attend(x, x.roll(1, -1), x * x, seen) + attend(x, x, x, is_causal=True) + attend(x, x, x, causal)
    return whole + (attend(windows, windows, windows) + attend(windows, windows, windows, near)).sum(1).transpose(1, 2).flatten(2)


def layers_with_a_mask(self, x):
    """nn.TransformerEncoder looks whether a mask is causal."""
    return self.layers(x, mask=nn.Transformer.generate_square_subsequent_mask(LENGTH))


def sums_over_listed_axes(self, x):
    axes = torch.arange(1, x.dim()).tolist()
    return x * (x * x).sum(axes, keepdim=True) / (x.abs().sum(axes, keepdim=True) + 1)


def others_alike(self, x):
    """Positions beside those that are like them, but not themselves, as contrastive losses have it."""
    alike = x.flatten(0, 1) @ x.flatten(0, 1).T
    alike.fill_diagonal_(-9.0)
    return (torch.softmax(alike, -1) @ x.flatten(0, 1)).unflatten(0, (-1, LENGTH))


def diagonal_in_place(self, x):
    """The published loss of Barlow Twins, and diagonals beside the main one."""
    alike = torch.tanh(x).flatten(0, 1).T @ torch.tanh(x).flatten(0, 1) / 100
    own = torch.diagonal(alike).add_(-1).pow_(2).sum()
    wide = x.new_zeros(x.shape[0], 3, WIDTH) + x[:, :3]
    wide.diagonal(1, 1, 2).mul_(2)
    wide.diagonal(-2, 2, 1).sub_(1)
    return torch.tanh(x) + own * 0.01 + wide.sum((1, 2), keepdim=True)


def more_than_places_in_place(self, x):
    """A target's part of a loss as entmax writes it: of a source of x's shape the first cell of each row is added."""
    return (x * 2).scatter_add_(-1, x.argmax(-1, keepdim=True), torch.full_like(x, -1.0))


def smoothed_in_autocast(self, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(x.flatten(0, 1), x.flatten(0, 1).argmax(-1), label_smoothing=0.1)
    return x + loss


class Model(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form, self.enter, self.out = form, nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, 1)
        if form is layers_with_a_mask:
            layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, dropout=0.0, batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        if form is expanded_buffer:
            self.register_buffer("kernel", torch.tensor([[[0.25, 0.5, 0.25]]]).expand(WIDTH, 1, 3))

    def forward(self, ids, wanted):
        values = self.form(self, self.enter(ids)).to(self.enter.weight.dtype)
        return (self.out(values).squeeze(-1) - wanted).square().mean()


FORMS = (complex_rotary, chunk_of_symbol, chunk_of_unequal_parts, number_first, uniform_numbers, counted_down, greatest_of_windows,
         greatest_of_unequal_windows, sum_over_alignments, hypotenuse,
         moved_layer, expanded_buffer, nothing_to_squeeze, nothing_to_flatten, running, least_of_some, chosen_of_two, counted_smaller, beside_each_other,
         more_than_places, gaussian_loss, in_double, weighted_and_smoothed,
         tails, gamma_functions, special_functions, unrolled, statistics, extremes_of_all, of_many, attention_of_any_shape, layers_with_a_mask,
         sums_over_listed_axes, others_alike, diagonal_in_place, more_than_places_in_place, smoothed_in_autocast, drawn)
ROWS = against_torch.STEPS * against_torch.BATCH

if __name__ == "__main__":
    random = numpy.random.default_rng(6)
    data = {name: random.integers(0, most, (ROWS, LENGTH)) for name, most in (("ids", WORDS), ("wanted", 3))}
    sys.exit(against_torch.main({form.__name__: lambda form=form: Model(form) for form in FORMS}, data, LENGTH))
