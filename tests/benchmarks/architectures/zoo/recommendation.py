# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recommendation and tables: embeddings of categories, crosses of features, trees, and losses of ranked pairs."""
import torch
import torch.nn.functional as F
from torch import nn

from .registry import BATCH, add, classes, fields, numbers

COLUMNS, VALUES = 6, 20


class Columns(nn.Module):
    """Six categories and eight numbers against a click; a subclass says the logit."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(VALUES, 8) for _ in range(COLUMNS))

    def embedded(self, categories):
        return torch.stack([table(categories[:, i]) for i, table in enumerate(self.tables)], 1)

    def forward(self, categories, values, click):
        return F.binary_cross_entropy_with_logits(self.logit(self.embedded(categories), values), click.to(values.dtype))


class Dlrm(Columns):
    """Products of all pairs of embeddings beside the numbers."""

    def __init__(self):
        super().__init__()
        self.below = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.above = nn.Sequential(nn.Linear(8 + 21, 16), nn.ReLU(), nn.Linear(16, 1))

    def logit(self, embedded, values):
        dense = self.below(values)
        every = torch.cat([dense[:, None], embedded], 1)
        row, column = torch.tril_indices(COLUMNS + 1, COLUMNS + 1, -1)
        pairs = (every @ every.transpose(1, 2))[:, row, column]
        return self.above(torch.cat([dense, pairs], -1)).squeeze(-1)


class DeepFm(Columns):
    """A factorisation machine beside a network."""

    def __init__(self):
        super().__init__()
        self.linear, self.deep = nn.Linear(8, 1), nn.Sequential(nn.Linear(56, 16), nn.ReLU(), nn.Linear(16, 1))

    def logit(self, embedded, values):
        pairs = 0.5 * (embedded.sum(1).square() - embedded.square().sum(1)).sum(-1)
        return pairs + (self.linear(values) + self.deep(torch.cat([embedded.flatten(1), values], -1))).squeeze(-1)


class Crosses(Columns):
    """DCN v2: each layer multiplies by the input again."""

    def __init__(self):
        super().__init__()
        self.layers, self.last = nn.ModuleList(nn.Linear(56, 56) for _ in range(2)), nn.Linear(56, 1)

    def logit(self, embedded, values):
        x = first = torch.cat([embedded.flatten(1), values], -1)
        for layer in self.layers:
            x = first * layer(x) + x
        return self.last(x).squeeze(-1)


class AutoInt(Columns):
    """Attention among the columns."""

    def __init__(self):
        super().__init__()
        self.attend, self.last = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(56, 1)

    def logit(self, embedded, values):
        y = F.relu(embedded + self.attend(embedded, embedded, embedded, need_weights=False)[0])
        return self.last(torch.cat([y.flatten(1), values], -1)).squeeze(-1)


class Wide(Columns):
    """One row of weights per pair of categories, at the place that a hash says, beside a network."""

    def __init__(self):
        super().__init__()
        self.wide, self.deep = nn.Embedding(50, 1), nn.Sequential(nn.Linear(56, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, categories, values, click):
        pairs = (categories[:, :-1] * 31 + categories[:, 1:] * 17) % 50
        deep = self.deep(torch.cat([self.embedded(categories).flatten(1), values], -1))
        return F.binary_cross_entropy_with_logits((self.wide(pairs).sum(1) + deep).squeeze(-1), click.to(values.dtype))


class Bags(nn.Module):
    """Sums of the embeddings of several words, by EmbeddingBag."""

    def __init__(self):
        super().__init__()
        self.bag, self.last = nn.EmbeddingBag(VALUES, 8, mode="sum"), nn.Linear(8, 5)

    def forward(self, words, labels):
        return F.cross_entropy(self.last(self.bag(words)), labels)


class Towers(nn.Module):
    """A user and an item, near each other among all of the batch, less what is often seen."""

    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(VALUES, 16), nn.Embedding(VALUES, 16)
        self.of_user, self.of_item = nn.Linear(16, 8), nn.Linear(16, 8)

    def forward(self, user, item, often):
        a, b = F.normalize(self.of_user(self.user(user)), dim=-1), F.normalize(self.of_item(self.item(item)), dim=-1)
        return F.cross_entropy(a @ b.T / 0.1 - F.softplus(often)[None], torch.arange(BATCH))


class Ranked(nn.Module):
    """Matrix factorisation with the pairwise loss of BPR."""

    def __init__(self):
        super().__init__()
        self.user, self.item, self.bias = nn.Embedding(VALUES, 8), nn.Embedding(VALUES, 8), nn.Embedding(VALUES, 1)

    def forward(self, user, item, other):
        u, i, j = self.user(user), self.item(item), self.item(other)
        apart = (u * (i - j)).sum(-1) + (self.bias(item) - self.bias(other)).squeeze(-1)
        return -F.logsigmoid(apart).mean() + 1e-3 * (u.square().sum() + i.square().sum() + j.square().sum())


class Interest(nn.Module):
    """DIN: what a user clicked, weighted by a network of each click and the candidate; unclicked places are masked."""

    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(VALUES, 8, padding_idx=0)
        self.weigh, self.last = nn.Sequential(nn.Linear(32, 16), nn.PReLU(), nn.Linear(16, 1)), nn.Linear(16, 1)

    def forward(self, history, item, click):
        past, now = self.items(history), self.items(item)[:, None].expand(-1, history.shape[1], -1)
        weight = self.weigh(torch.cat([past, now, past - now, past * now], -1)).masked_fill((history == 0)[..., None], 0.0)
        logit = self.last(torch.cat([(weight * past).sum(1), now[:, 0]], -1)).squeeze(-1)
        return F.binary_cross_entropy_with_logits(logit, click.to(logit.dtype))


class SasRec(nn.Module):
    """Self-attention over a history, and losses of the next item and a drawn one where the history is no padding."""

    def __init__(self):
        super().__init__()
        self.items, self.places = nn.Embedding(VALUES, 16, padding_idx=0), nn.Embedding(12, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=True)

    def forward(self, history, following, drawn):
        length = history.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        y = self.layer(self.items(history) + self.places.weight[:length], src_mask=later)
        good, bad = ((y * self.items(ids)).sum(-1) for ids in (following, drawn))
        real = (following != 0).to(y.dtype)
        return -((F.logsigmoid(good) + F.logsigmoid(-bad)) * real).sum() / real.sum()


class Tasks(Columns):
    """MMoE: each of two tasks mixes the experts by a gate of its own; uncertainties weigh the tasks."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(56, 16), nn.ReLU()) for _ in range(3))
        self.gates, self.heads = nn.Linear(56, 6), nn.ModuleList(nn.Linear(16, 1) for _ in range(2))
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, categories, values, click):
        x = torch.cat([self.embedded(categories).flatten(1), values], -1)
        parts = torch.stack([expert(x) for expert in self.experts], 1)
        shares = self.gates(x).view(-1, 2, 3).softmax(-1)
        first, second = (head((shares[:, i, :, None] * parts).sum(1)).squeeze(-1) for i, head in enumerate(self.heads))
        losses = torch.stack([F.binary_cross_entropy_with_logits(first, click.to(x.dtype)), F.mse_loss(second, values[:, 0])])
        return ((-self.weight).exp() * losses + self.weight).sum()


class Tokens(Columns):
    """FT-Transformer: every column one token, and one more to read from."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(8, 8)), nn.Parameter(torch.randn(8, 8))
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
        self.read, self.last = nn.Parameter(torch.randn(1, 1, 8)), nn.Linear(8, 1)

    def logit(self, embedded, values):
        numbered = values[..., None] * self.weight + self.bias
        y = torch.cat([self.read.expand(values.shape[0], -1, -1), embedded, numbered], 1)
        return self.last(self.layer(y)[:, 0]).squeeze(-1)


def sparsemax(x):
    ordered = x.sort(-1, descending=True).values
    whole = ordered.cumsum(-1)
    count = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    kept = (1 + count * ordered > whole).sum(-1, keepdim=True)
    return F.relu(x - (torch.gather(whole, -1, kept - 1) - 1) / kept.to(x.dtype))


class TabNet(Columns):
    """Steps that each choose columns by a sparse softmax."""

    def __init__(self):
        super().__init__()
        self.norm, self.choose = nn.BatchNorm1d(56), nn.ModuleList(nn.Linear(8, 56) for _ in range(2))
        self.see, self.last = nn.ModuleList(nn.Linear(56, 32) for _ in range(3)), nn.Linear(8, 1)

    def logit(self, embedded, values):
        x = self.norm(torch.cat([embedded.flatten(1), values], -1))
        left, seen, whole = torch.ones_like(x), F.glu(self.see[0](x), -1), 0.0
        for choose, see in zip(self.choose, self.see[1:]):
            mask = sparsemax(choose(seen[:, 8:]) * left)
            left = left * (1.3 - mask)
            seen = F.glu(see(mask * x), -1)
            whole = whole + F.relu(seen[:, :8])
        return self.last(whole).squeeze(-1)


class Trees(Columns):
    """NODE: soft oblivious trees of depth three; every leaf is weighted by the ways that lead to it."""

    def __init__(self):
        super().__init__()
        self.choose, self.threshold = nn.Parameter(torch.randn(56, 4, 3)), nn.Parameter(torch.zeros(4, 3))
        self.leaves = nn.Parameter(torch.randn(4, 8))
        self.register_buffer("ways", torch.tensor([[i >> j & 1 for j in range(3)] for i in range(8)]).bool())

    def logit(self, embedded, values):
        x = torch.einsum("bc,ctd->btd", torch.cat([embedded.flatten(1), values], -1), self.choose.softmax(0))
        right = (x - self.threshold).sigmoid()[:, :, None]
        return (torch.where(self.ways, right, 1 - right).prod(-1) * self.leaves).sum((1, 2))


class Additive(nn.Module):
    """A small network for each number, whose answers are summed."""

    def __init__(self):
        super().__init__()
        self.first, self.bias = nn.Parameter(torch.randn(8, 16)), nn.Parameter(torch.randn(8, 16))
        self.last, self.offset = nn.Parameter(torch.randn(8, 16) * 0.1), nn.Parameter(torch.zeros(1))

    def forward(self, values, target):
        each = (F.relu(values[..., None] * self.first + self.bias) * self.last).sum(-1)
        return F.poisson_nll_loss(each.sum(-1) + self.offset, target.exp())


class Survival(nn.Module):
    """Cox's partial likelihood: each event against all that last longer, by a sorted running sum."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.SELU(), nn.Linear(16, 1))

    def forward(self, values, time):
        risk = self.net(values).squeeze(-1)[time.argsort(descending=True)]
        return -(risk - torch.logcumsumexp(risk, 0)).mean()


CLICKS = fields(categories=classes(VALUES, COLUMNS), values=numbers(8), click=classes(2))
for name, make in {"dlrm": Dlrm, "deepfm": DeepFm, "dcn_v2": Crosses, "autoint": AutoInt, "wide_deep": Wide, "mmoe": Tasks,
                   "ft_transformer": Tokens, "tabnet": TabNet, "node_trees": Trees}.items():
    add(__name__, CLICKS, name, make)
add(__name__, fields(words=classes(VALUES, 5), labels=classes(5)), "embedding_bag", Bags)
add(__name__, fields(user=classes(VALUES), item=classes(VALUES), often=numbers()), "two_towers", Towers, dynamic=False)
add(__name__, fields(user=classes(VALUES), item=classes(VALUES), other=classes(VALUES)), "bpr", Ranked)
add(__name__, fields(history=classes(VALUES, 12), item=classes(VALUES), click=classes(2)), "din", Interest)
add(__name__, fields(history=classes(VALUES, 12), following=classes(VALUES, 12), drawn=classes(VALUES, 12)), "sasrec", SasRec)
add(__name__, fields(values=numbers(8), target=numbers()), "additive_model", Additive)
add(__name__, fields(values=numbers(8), time=numbers()), "cox_survival", Survival, dynamic=False)
