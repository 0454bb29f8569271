# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks over graphs, sets and points. Edges are inputs, so that messages are gathered and summed by what the data say."""
import torch
import torch.nn.functional as F
from torch import nn

from .registry import add, classes, fields, numbers

NODES, EDGES, FEATURES = 12, 40, 8
GRAPH = dict(x=numbers(FEATURES, rows=NODES), source=classes(NODES, rows=EDGES), target=classes(NODES, rows=EDGES),
             labels=classes(5, rows=NODES))


def summed(messages, target, count):
    """What reaches each node."""
    return torch.zeros(count, *messages.shape[1:], dtype=messages.dtype).index_add(0, target, messages)


class Net(nn.Module):
    """Classifies nodes; a subclass has the layers."""

    def __init__(self, width=16):
        super().__init__()
        self.first, self.head = nn.Linear(FEATURES, width), nn.Linear(width, 5)

    def forward(self, x, source, target, labels):
        return F.cross_entropy(self.head(self.layers(F.relu(self.first(x)), source, target)), labels)


class Gcn(Net):
    """Sums weighted by both nodes' degrees."""

    def __init__(self):
        super().__init__()
        self.mix = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))

    def layers(self, x, source, target):
        degree = 1 + summed(torch.ones(EDGES, dtype=x.dtype), target, NODES)
        weight = (degree[source] * degree[target]).rsqrt()[:, None]
        for mix in self.mix:
            y = mix(x)
            x = F.relu(summed(weight * y[source], target, NODES) + y / degree[:, None])
        return x


class Sage(Net):
    """The mean of the neighbours beside the node itself."""

    def __init__(self):
        super().__init__()
        self.own, self.others = nn.Linear(16, 16), nn.Linear(16, 16, bias=False)

    def layers(self, x, source, target):
        count = summed(torch.ones(EDGES, 1, dtype=x.dtype), target, NODES).clamp(min=1)
        return F.normalize(F.relu(self.own(x) + self.others(summed(x[source], target, NODES) / count)), dim=-1)


class Gin(Net):
    """Sums through a small network, with a learned share of the node itself."""

    def __init__(self):
        super().__init__()
        self.share = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16))

    def layers(self, x, source, target):
        return self.mlp((1 + self.share) * x + summed(x[source], target, NODES))


class Gat(Net):
    """Attention over the edges that reach a node."""

    def __init__(self):
        super().__init__()
        self.mix, self.of_source, self.of_target = nn.Linear(16, 16), nn.Linear(16, 4), nn.Linear(16, 4)

    def layers(self, x, source, target):
        scores = F.leaky_relu(self.of_source(x)[source] + self.of_target(x)[target], 0.2).exp()
        shares = scores / (summed(scores, target, NODES)[target] + 1e-9)
        return F.elu(summed(shares[..., None] * self.mix(x).view(-1, 4, 4)[source], target, NODES).flatten(1))


class GatOfMaxima(Gat):
    """The same with the greatest score of each node taken off before the exponential."""

    def layers(self, x, source, target):
        scores = F.leaky_relu(self.of_source(x)[source] + self.of_target(x)[target], 0.2)
        top = torch.full((NODES, 4), -1e9, dtype=x.dtype).scatter_reduce(0, target[:, None].expand(-1, 4), scores.detach(), "amax")
        scores = (scores - top[target]).exp()
        shares = scores / (summed(scores, target, NODES)[target] + 1e-9)
        return F.elu(summed(shares[..., None] * self.mix(x).view(-1, 4, 4)[source], target, NODES).flatten(1))


class Messages(Net):
    """Messages of a network of both ends, and a recurrent cell that takes them in."""

    def __init__(self):
        super().__init__()
        self.edge, self.cell = nn.Sequential(nn.Linear(32, 16), nn.SiLU(), nn.Linear(16, 16)), nn.GRUCell(16, 16)

    def layers(self, x, source, target):
        for _ in range(2):
            x = self.cell(summed(self.edge(torch.cat([x[source], x[target]], -1)), target, NODES), x)
        return x


class Equivariant(Net):
    """EGNN: messages know distances, and move the nodes as well."""

    def __init__(self):
        super().__init__()
        self.edge, self.node = nn.Sequential(nn.Linear(33, 16), nn.SiLU()), nn.Linear(32, 16)
        self.move, self.last = nn.Linear(16, 1), nn.Linear(16 + 3, 16)

    def layers(self, x, source, target):
        places = x[:, :3]
        for _ in range(2):
            apart = places[target] - places[source]
            messages = self.edge(torch.cat([x[source], x[target], apart.square().sum(-1, keepdim=True)], -1))
            places = places + summed(apart * self.move(messages).tanh(), target, NODES)
            x = x + F.silu(self.node(torch.cat([x, summed(messages, target, NODES)], -1)))
        return self.last(torch.cat([x, places], -1))


class Principal(Net):
    """PNA: means, standard deviations and sums, scaled by the degree."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(64, 16)

    def layers(self, x, source, target):
        count = summed(torch.ones(EDGES, 1, dtype=x.dtype), target, NODES).clamp(min=1)
        whole = summed(x[source], target, NODES)
        mean = whole / count
        spread = (summed(x[source].square(), target, NODES) / count - mean.square()).clamp(min=0).add(1e-5).sqrt()
        return F.relu(self.mix(torch.cat([x, mean, spread, whole * torch.log1p(count)], -1)))


class Dense(nn.Module):
    """A batch of graphs as matrices of neighbours; read out by a sum over nodes."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(FEATURES, 16), nn.Linear(16, 16), nn.Linear(16, 5)

    def forward(self, x, links, labels):
        links = (links > 0).to(x.dtype) + torch.eye(NODES, dtype=x.dtype)
        links = links / links.sum(-1, keepdim=True)
        return F.cross_entropy(self.head(F.relu(self.second(links @ F.relu(self.first(links @ x)))).sum(1)), labels)


class Graphormer(nn.Module):
    """Attention among nodes with a learned bias of their distance, and of their degrees as positions."""

    def __init__(self):
        super().__init__()
        self.first, self.degrees, self.near = nn.Linear(FEATURES, 32), nn.Embedding(6, 32), nn.Embedding(6, 4)
        self.norm, self.mix, self.out, self.head = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32), nn.Linear(32, 5)

    def forward(self, x, degree, distance, labels):
        y = self.first(x) + self.degrees(degree)
        q, k, v = self.mix(self.norm(y)).view(-1, NODES, 3, 4, 8).permute(2, 0, 3, 1, 4)
        bias = self.near(distance).permute(0, 3, 1, 2)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).reshape(-1, NODES, 32)
        return F.cross_entropy(self.head((y + self.out(mixed)).mean(1)), labels)


class Pooled(nn.Module):
    """Several graphs in one list of nodes: sums over the graph that each node belongs to."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(FEATURES, 16), nn.Linear(32, 5)

    def forward(self, x, graph, labels):
        y = F.relu(self.first(x))
        count = summed(torch.ones(NODES, 1, dtype=x.dtype), graph, 4).clamp(min=1)
        whole = summed(y, graph, 4)
        return F.cross_entropy(self.head(torch.cat([whole, whole / count], -1)), labels)


class Points(nn.Module):
    """PointNet: the greatest of each channel over all points."""

    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 32, 1))
        self.head = nn.Linear(32, 5)

    def forward(self, points, labels):
        return F.cross_entropy(self.head(self.mlp(points).amax(-1)), labels)


class Nearest(nn.Module):
    """DGCNN: edges to the nearest points, found anew by each layer."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(6, 16), nn.Linear(32, 16), nn.Linear(16, 5)

    @staticmethod
    def edges(x):
        apart = (x[:, :, None] - x[:, None]).square().sum(-1)
        near = (-apart).topk(4).indices
        others = torch.stack([x[i][near[i]] for i in range(x.shape[0])])
        return torch.cat([others - x[:, :, None], x[:, :, None].expand_as(others)], -1)

    def forward(self, points, labels):
        y = F.leaky_relu(self.first(self.edges(points.transpose(1, 2))), 0.2).amax(2)
        y = F.leaky_relu(self.second(self.edges(y)), 0.2).amax(2)
        return F.cross_entropy(self.head(y.mean(1)), labels)


class Sets(nn.Module):
    """A set transformer: learned seeds attend to the members, and are pooled."""

    def __init__(self):
        super().__init__()
        self.first, self.seeds = nn.Linear(FEATURES, 32), nn.Parameter(torch.randn(1, 4, 32))
        self.to_seeds, self.back = (nn.MultiheadAttention(32, 4, batch_first=True) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 5)

    def forward(self, x, labels):
        y = self.first(x)
        seeds = self.to_seeds(self.seeds.expand(x.shape[0], -1, -1), y, y, need_weights=False)[0]
        y = self.norm(y + self.back(y, seeds, seeds, need_weights=False)[0])
        return F.cross_entropy(self.head(y.mean(1)), labels)


class DeepSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(FEATURES, 16), nn.ELU(), nn.Linear(16, 16))
        self.whole = nn.Sequential(nn.Linear(16, 16), nn.ELU(), nn.Linear(16, 5))

    def forward(self, x, labels):
        return F.cross_entropy(self.whole(self.each(x).sum(1)), labels)


for name, make in {"gcn": Gcn, "graphsage": Sage, "gin": Gin, "gat": Gat, "gat_maxima": GatOfMaxima, "mpnn": Messages,
                   "egnn": Equivariant, "pna": Principal}.items():
    add(__name__, fields(**GRAPH), name, make, dynamic=False)
MEMBERS = fields(x=numbers(NODES, FEATURES), labels=classes(5))
CLOUD = fields(points=numbers(3, 16), labels=classes(5))
add(__name__, fields(x=numbers(NODES, FEATURES), links=numbers(NODES, NODES), labels=classes(5)), "gcn_dense", Dense)
add(__name__, fields(x=numbers(NODES, FEATURES), degree=classes(6, NODES), distance=classes(6, NODES, NODES),
                     labels=classes(5)), "graphormer", Graphormer)
add(__name__, fields(x=numbers(FEATURES, rows=NODES), graph=classes(4, rows=NODES), labels=classes(5)), "graph_pooling",
    Pooled, dynamic=False)
add(__name__, CLOUD, "pointnet", Points)
add(__name__, CLOUD, "dgcnn", Nearest, dynamic=False)
add(__name__, MEMBERS, "set_transformer", Sets)
add(__name__, MEMBERS, "deep_sets", DeepSets)
