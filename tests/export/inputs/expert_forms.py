# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expert layers whose parameters are three stacked ones, one with gate and up in the other order, or matrices of each expert,
each trained as PyTorch trains it.

    expert_forms.py FOLDER [--plans PLAN ..] [--only NAME ..]
"""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch
from expert_loops import EXPERTS, LENGTH, PICKS, WIDTH, WORDS, Model, flat


class Stacked(Model):
    def __init__(self, mix):
        super().__init__(mix)
        sizes = {"w1": (12, WIDTH), "w2": (WIDTH, 12), "w3": (12, WIDTH), "both": (WIDTH, 24), "down": (12, WIDTH)}
        for name, (rows, columns) in sizes.items():
            setattr(self, name, nn.Parameter(torch.randn(EXPERTS, rows, columns) * 0.3))
        self.both_bias, self.down_bias = (nn.Parameter(torch.randn(EXPERTS, size) * 0.3) for size in (24, WIDTH))
        self.scale, self.norm = nn.Parameter(torch.rand(WIDTH)), nn.Parameter(torch.rand(WIDTH))


class Biased(Model):
    def __init__(self, mix):
        super().__init__(mix)
        self.biased = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, 12), nn.ReLU(), nn.Linear(12, WIDTH)) for _ in range(EXPERTS))
        self.gated = nn.ModuleList(nn.ModuleDict({"w1": nn.Linear(WIDTH, 12), "w2": nn.Linear(12, WIDTH), "w3": nn.Linear(WIDTH, 12)})
                                   for _ in range(EXPERTS))


def gates(x, weights, picks):
    """The weights of all experts (.., experts), 0 where they are not picked."""
    return torch.zeros(*x.shape[:-1], EXPERTS, dtype=x.dtype).scatter(-1, picks, weights)


def gathered(net, x, weights, picks):
    """Three parameters, of which each token's experts are gathered, as in gpt-fast."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    active = F.silu(torch.einsum("ti,taoi->tao", x, net.w1[picks])) * torch.einsum("ti,taoi->tao", x, net.w3[picks])
    return torch.einsum("tai,ta->ti", torch.einsum("tao,taio->tai", active, net.w2[picks]), weights).reshape(shape)


def of_groups(rows, matrices, ends):
    """grouped_mm, which knows no double precision."""
    if rows.dtype is torch.float32:
        return torch._grouped_mm(rows, matrices.transpose(-2, -1), offs=ends)
    parts = zip(rows.tensor_split(ends[:-1].tolist()), matrices)
    return torch.cat([part @ matrix.T for part, matrix in parts])


def sorted_by_experts(net, x, weights, picks, read, add):
    ends = torch.bincount(picks.flatten(), minlength=EXPERTS).cumsum(0, dtype=torch.int32)
    order = torch.argsort(picks.flatten(), stable=True)
    weights, token = weights.flatten()[order], order // PICKS
    rows = read(x, token)
    rows = F.silu(of_groups(rows, net.w1, ends)) * of_groups(rows, net.w3, ends)
    return add(torch.zeros_like(x), token, of_groups(rows, net.w2, ends) * weights[:, None], order)


def grouped(net, x, weights, picks):
    """Rows that are sorted by experts, of which grouped_mm multiplies a group with one matrix, as torchtitan does."""
    shape, operands = x.shape, flat(x, weights, picks)
    return sorted_by_experts(net, *operands, lambda x, token: x[token],
                             lambda y, token, rows, _: y.index_add(0, token, rows)).reshape(shape)


def grouped_by_cells(net, x, weights, picks):
    shape, operands = x.shape, flat(x, weights, picks)

    def all_of(token):
        return token.reshape(-1, 1).expand(-1, shape[-1])
    return sorted_by_experts(net, *operands, lambda x, token: torch.gather(x, dim=0, index=all_of(token)),
                             lambda y, token, rows, _: y.scatter_add(dim=0, index=all_of(token), src=rows)).reshape(shape)


def grouped_and_back(net, x, weights, picks):
    """Rows that go back by the order of the order."""
    shape, operands = x.shape, flat(x, weights, picks)
    return sorted_by_experts(net, *operands, lambda x, token: x[token],
                             lambda y, token, rows, order: rows[torch.argsort(order)].unflatten(0, (-1, PICKS)).sum(1)).reshape(shape)


def products(net, x, weights, picks):
    """Three parameters, of which all are multiplied with all tokens, as torchtitan writes them."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    all_of = x.unsqueeze(0).expand(EXPERTS, -1, -1)
    active = F.silu(torch.bmm(all_of, net.w1.mT)) * torch.bmm(all_of, net.w3.mT)
    return (torch.bmm(active, net.w2.mT) * gates(x, weights, picks).t()[..., None]).sum(0).reshape(shape)


def turned(net, x, weights, picks):
    """One parameter with what is multiplied before the gates."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    up, gate = torch.bmm(x.repeat(EXPERTS, 1).view(EXPERTS, -1, WIDTH), net.both).chunk(2, -1)
    return (torch.bmm(up * F.silu(gate), net.down) * gates(x, weights, picks).t()[..., None]).sum(0).reshape(shape)


def gelu_gates(net, x, weights, picks):
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    active = F.gelu(torch.einsum("ti,eoi->teo", x, net.w1), approximate="tanh") * torch.einsum("ti,eoi->teo", x, net.w3)
    return torch.einsum("teo,eio,te->ti", active, net.w2, gates(x, weights, picks)).reshape(shape)


def without_gates(net, x, weights, picks):
    """Two parameters: one product, GELU and another."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    active = F.gelu(torch.einsum("ti,taoi->tao", x, net.w1[picks]))
    return torch.einsum("tai,ta->ti", torch.einsum("tao,taio->tai", active, net.w2[picks]), weights).reshape(shape)


def listed_squares(net, x, weights, picks):
    """Two matrices of each expert, and the square of ReLU between them."""
    given = gates(x, weights, picks)
    return sum(given[..., number, None] * expert.w2(F.relu(expert.w1(x)).square()) for number, expert in enumerate(net.experts))


def in_turns(net, x, weights, picks):
    """Gates and what they multiply in turns, both limited, and biases, as in GPT-OSS."""
    both = torch.einsum("bti,btkio->btko", x, net.both[picks]) + net.both_bias[picks]
    gate, up = both[..., ::2].clamp(max=7), both[..., 1::2].clamp(-7, 7)
    done = torch.einsum("btko,btkoi->btki", (up + 1) * gate * torch.sigmoid(gate * 1.702), net.down[picks])
    return ((done + net.down_bias[picks]) * weights[..., None]).sum(2)


def listed_biases(net, x, weights, picks):
    """Matrices and biases of each expert."""
    given = gates(x, weights, picks)
    return sum(given[..., number, None] * expert(x) for number, expert in enumerate(net.biased))


def gated_biases(net, x, weights, picks):
    """Three matrices of each expert, all with biases."""
    given = gates(x, weights, picks)
    return sum(given[..., number, None] * expert["w2"](F.silu(expert["w1"](x)) * expert["w3"](x))
               for number, expert in enumerate(net.gated))


def one_entering(net, x, weights, picks):
    """One pick, whose logistic weighs what enters, as in Llama 4."""
    best, pick = net.gate(x).topk(1, dim=-1)
    shares = torch.full_like(net.gate(x), float("-inf")).scatter(-1, pick, best).sigmoid()
    rows = x.unsqueeze(-2) * shares.unsqueeze(-1)
    active = F.silu(torch.einsum("btei,eoi->bteo", rows, net.w1)) * torch.einsum("btei,eoi->bteo", rows, net.w3)
    return torch.einsum("bteo,eio->bti", active, net.w2)


def apart(net, x, weights, picks):
    """A norm of the router's and one of the experts' own."""
    best, picks = net.gate(F.rms_norm(x, (WIDTH,)) * net.scale).topk(PICKS, dim=-1)
    return gelu_gates(net, F.rms_norm(x, (WIDTH,), net.norm), best.softmax(-1), picks)


def listed(net, x, weights, picks):
    """Modules, stacked results, and an einsum."""
    return torch.einsum("bte,btec->btc", gates(x, weights, picks), torch.stack([expert(x) for expert in net.experts], 2))


def softmax_of_picks(net, x, weights, picks):
    """The softmax of logits where those that are not picked are -inf, from the last expert on."""
    logits = net.gate(x)
    best, picks = logits.topk(PICKS, dim=-1)
    share = torch.full_like(logits, float("-inf")).scatter(-1, picks, best).softmax(-1)
    result = 0
    for number in reversed(range(EXPERTS)):
        result = share[..., number:number + 1] * net.experts[number](x) + result
    return result


def others_first(net, x, weights, picks):
    """Modules in another order than the router's numbers."""
    given = gates(x, weights, picks)
    return sum(given[..., number, None] * net.experts[expert](x) for number, expert in enumerate((0, 2, 1, 3)))


def out_of_order(net, x, weights, picks):
    """Numbers that are read in no order: left as they are written."""
    given = gates(x, weights, picks)
    return sum(given[..., number, None] * net.experts[number](x) for number in (0, 2, 1, 3))


def raised_divisor(net, x, weights, picks):
    """Shares of a sum to which something is added, which are no shares."""
    best, picks = net.gate(x).sigmoid().topk(PICKS, dim=-1)
    share = (best / (best.sum(-1, keepdim=True) + 1e-3)).movedim(-1, 0)
    given = (F.one_hot(picks, EXPERTS).movedim(-2, 0) * share[..., None]).sum(0)
    return sum(given[..., number, None] * expert(x) for number, expert in enumerate(net.experts))


STACKED = gathered, grouped, grouped_by_cells, grouped_and_back, products, turned, gelu_gates, without_gates, in_turns, one_entering, apart
FOUND = {form.__name__: lambda form=form: Stacked(form) for form in STACKED}
FOUND |= {form.__name__: lambda form=form: Model(form) for form in (listed, listed_squares, softmax_of_picks, others_first)}
FOUND |= {form.__name__: lambda form=form: Biased(form) for form in (listed_biases, gated_biases)}
LEFT = {form.__name__: lambda form=form: Model(form) for form in (out_of_order, raised_divisor)}
ROWS = against_torch.STEPS * against_torch.BATCH

if __name__ == "__main__":
    random = numpy.random.default_rng(6)
    data = {name: random.integers(0, most, (ROWS, LENGTH)) for name, most in (("ids", WORDS), ("wanted", 3))}
    sys.exit(against_torch.main(FOUND | LEFT, data, LENGTH))
