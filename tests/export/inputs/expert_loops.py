# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over experts that write to the rows that picked them, as people write them, each trained as PyTorch trains it.

    expert_loops.py FOLDER [--plans PLAN ..] [--only NAME ..]

After it, what is asked of a mask in a way that is refused, with what the export says."""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch
import dtcc_export

LENGTH, WIDTH, WORDS, EXPERTS, PICKS = 5, 8, 20, 4, 2


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2, self.w3 = (nn.Linear(*sizes, bias=False) for sizes in ((WIDTH, 12), (12, WIDTH), (WIDTH, 12)))

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Model(nn.Module):
    def __init__(self, mix):
        super().__init__()
        self.mix, self.enter, self.out = mix, nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, 1)
        self.gate, self.experts = nn.Linear(WIDTH, EXPERTS, bias=False), nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, ids, wanted):
        x = self.enter(ids)
        weights, picks = torch.topk(self.gate(x).softmax(-1), PICKS, dim=-1)
        mixed = self.mix(self, x, weights / weights.sum(-1, keepdim=True), picks)
        return (self.out(x + mixed).reshape(wanted.shape) - wanted).square().mean()


def flat(x, weights, picks):
    return x.reshape(-1, WIDTH), weights.reshape(-1, PICKS), picks.reshape(-1, PICKS)


def mixtral(net, x, weights, picks):
    """The loop of transformers 4."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    result = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
    mask = F.one_hot(picks, num_classes=EXPERTS).permute(2, 1, 0)
    for number in range(EXPERTS):
        place, token = torch.where(mask[number])
        if token.shape[0] == 0:
            continue
        done = net.experts[number](x[None, token].reshape(-1, WIDTH)) * weights[token, place, None]
        result.index_add_(0, token, done.to(x.dtype))
    return result.reshape(shape)


def mistral(net, x, weights, picks):
    """The loop of mistral-inference."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    results = torch.zeros_like(x)
    for number, expert in enumerate(net.experts):
        token, place = torch.where(picks == number)
        results[token] += weights[token, place, None] * expert(x[token])
    return results.view(shape)


def masks(net, x, weights, picks):
    """A mask of tokens and a view of it, a question, and weights of all experts."""
    gates, rows = torch.zeros(*x.shape[:2], EXPERTS, dtype=x.dtype).scatter(-1, picks, weights).view(-1, EXPERTS), x.view(-1, WIDTH)
    result = torch.zeros_like(x)
    for number, expert in enumerate(net.experts):
        mask = (picks == number).any(dim=-1)
        of_rows = mask.view(-1)
        if of_rows.any():
            done = expert(rows[of_rows]) * gates[of_rows, number].unsqueeze(1)
            result[mask] += done.squeeze(1)
    return result


def copies(net, x, weights, picks):
    """A row for each pick, as DeepSeek's code of training has it, and a question about the number of rows."""
    rows, chosen = x.view(-1, WIDTH).repeat_interleave(PICKS, dim=0), picks.view(-1)
    result = torch.empty_like(rows)
    for number, expert in enumerate(net.experts):
        if (chosen == number).sum() > 0:
            result[chosen == number] = expert(rows[chosen == number])
    return (result.view(*weights.shape, -1) * weights.unsqueeze(-1)).sum(2)


def hits(net, x, weights, picks):
    """The loop of transformers 5, over the experts that some token picked."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    result, mask = torch.zeros_like(x), F.one_hot(picks, num_classes=EXPERTS).permute(2, 1, 0)
    for hit in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
        number = hit[0]
        if number == EXPERTS:
            continue
        place, token = torch.where(mask[number])
        expert = net.experts[number]
        gate, up = F.linear(x[token], torch.cat((expert.w1.weight, expert.w3.weight))).chunk(2, dim=-1)
        result.index_add_(0, token, expert.w2(F.silu(gate) * up) * weights[token, place, None])
    return result.reshape(shape)


def sums(net, x, weights, picks):
    """A sum by index_put, rows picked in another order, and a write of rows without gradient to which several cells point."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    result = torch.ones_like(x)
    token, place = torch.where(picks >= 1)
    result[token] = (x[token] * weights[token, place, None]).detach()
    place, token = torch.where(picks.t() == 0)
    result.index_put_((token,), net.experts[0](x[token]) * weights.t()[place, token].unsqueeze(-1), accumulate=True)
    return result.reshape(shape)


def asked_of_another(net, x, weights, picks):
    result = torch.zeros_like(x)
    if (picks == 1).all():
        result[picks[..., 0] == 1] = 1.0
    return result


def asked_in_vain(net, x, weights, picks):
    return x * 2 if (picks == 1).any() else x


def two_masks(net, x, weights, picks):
    result = torch.zeros_like(x)
    result[picks[..., 0] == 1] = x[picks[..., 0] == 2]
    return result


def counted(net, x, weights, picks):
    for _ in F.one_hot(picks, num_classes=EXPERTS).sum(dim=(0, 1, 2)).nonzero():
        x = x + 1
    return x


def besides(net, x, weights, picks):
    """A body that does something for each picked expert without a mask; the last number is of no expert."""
    shape, (x, weights, picks) = x.shape, flat(x, weights, picks)
    result, mask = torch.zeros_like(x), F.one_hot(picks, num_classes=EXPERTS + 1).permute(2, 1, 0)
    for hit in mask.sum(dim=(-1, -2)).nonzero():
        token = torch.where(mask[hit[0]])[1]
        result.index_add_(0, token, x[token])
        result = result + 1
    return result.reshape(shape)


def ahead(net, x, weights, picks):
    return x.reshape(-1, WIDTH)[None, torch.where(picks[..., 0].reshape(-1) == 1)[0]].sum(1)


FORMS = (mixtral, mistral, masks, copies, hits, sums)
REFUSED = (asked_of_another, asked_in_vain, two_masks, counted, besides, ahead)
ROWS = against_torch.STEPS * against_torch.BATCH

if __name__ == "__main__":
    random = numpy.random.default_rng(6)
    data = {name: random.integers(0, most, (ROWS, LENGTH)) for name, most in (("ids", WORDS), ("wanted", 3))}
    wrong = against_torch.main({form.__name__: lambda form=form: Model(form) for form in FORMS}, data, LENGTH)
    for form in REFUSED:
        try:
            dtcc_export.export(Model(form), {name: torch.as_tensor(cells[:4]) for name, cells in data.items()}, sys.argv[1] + "/no.onnx")
            print(f"{form.__name__}: exported")
        except dtcc_export.ExportError as error:
            print(f"{form.__name__}: {error}")
    sys.exit(wrong)
