# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Metric learning: losses that compare samples of a batch with each other or with learned centres."""
import torch
import torch.nn.functional as F
from torch import nn

from .registry import BATCH, add, classes, fields, numbers


class Encoded(nn.Module):
    """An encoder of images; a subclass has the loss."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.GELU(), nn.Conv2d(8, 16, 3, 2, 1), nn.GELU(), nn.Flatten(),
                                    nn.Linear(16 * 16, 16))


class Triplet(Encoded):
    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(self.encode(anchor), self.encode(positive), self.encode(negative), margin=1.0)


class Siamese(Encoded):
    """The contrastive loss of pairs."""

    def forward(self, anchor, positive, same):
        apart = F.pairwise_distance(self.encode(anchor), self.encode(positive))
        same = same.to(apart.dtype)
        return (same * apart.square() + (1 - same) * F.relu(1.0 - apart).square()).mean()


class SimClr(Encoded):
    """NT-Xent: two views of each image among all views of all images."""

    def forward(self, anchor, positive):
        z = F.normalize(torch.cat([self.encode(anchor), self.encode(positive)]), dim=-1)
        likeness = (z @ z.T / 0.5).masked_fill(torch.eye(2 * BATCH, dtype=torch.bool), float("-inf"))
        return F.cross_entropy(likeness, torch.arange(2 * BATCH).roll(BATCH))


class BarlowTwins(Encoded):
    """The correlation of two views' features near the identity."""

    def forward(self, anchor, positive):
        a, b = (F.batch_norm(self.encode(t), None, None, training=True) for t in (anchor, positive))
        together = a.T @ b / BATCH
        diagonal = torch.diagonal(together)
        return ((diagonal - 1).square().sum() + 0.05 * (together.square().sum() - diagonal.square().sum())) / 16


class VicReg(Encoded):
    """Variance, invariance and covariance."""

    def forward(self, anchor, positive):
        a, b = self.encode(anchor), self.encode(positive)
        loss = 25 * F.mse_loss(a, b)
        for z in (a, b):
            z = z - z.mean(0)
            together = z.T @ z / (BATCH - 1)
            loss = loss + 25 * F.relu(1 - torch.sqrt(z.var(0) + 1e-4)).mean()
            loss = loss + (together.square().sum() - torch.diagonal(together).square().sum()) / 16
        return loss


class SupCon(Encoded):
    """Samples of one class near each other."""

    def forward(self, anchor, labels):
        z = F.normalize(self.encode(anchor), dim=-1)
        own = torch.eye(BATCH, dtype=torch.bool)
        logs = (z @ z.T / 0.1).masked_fill(own, -1e9).log_softmax(-1)
        same = ((labels[:, None] == labels[None]) & ~own).to(z.dtype)
        return -((logs * same).sum(-1) / same.sum(-1).clamp(min=1)).mean()


class ArcFace(Encoded):
    """An angle added between a sample and the centre of its class."""

    def __init__(self):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(10, 16))

    def forward(self, anchor, labels):
        cosine = F.linear(F.normalize(self.encode(anchor)), F.normalize(self.centres)).clamp(-1 + 1e-6, 1 - 1e-6)
        turned = torch.cos(torch.acos(cosine) + 0.3)
        return F.cross_entropy(torch.where(F.one_hot(labels, 10) > 0, turned, cosine) * 8, labels)


class CenterLoss(ArcFace):
    """Cross entropy, and the distance from the centre of the class."""

    def forward(self, anchor, labels):
        z = self.encode(anchor)
        return F.cross_entropy(z @ self.centres.T, labels) + 0.1 * (z - self.centres[labels]).square().sum(-1).mean()


class Byol(Encoded):
    """A predictor beside another encoder's features, to which no gradient flows.

    The features have no bias: the predictor's batch norm takes its mean away, so that its gradient is zero. AdamW would divide
    the rounding of that zero by itself and move the bias by whole steps, which the other encoder's features show.
    """

    def __init__(self):
        super().__init__()
        self.encode[-1] = nn.Linear(16 * 16, 16, bias=False)
        self.predict = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16))

    def forward(self, anchor, positive):
        a, b = self.encode(anchor), self.encode(positive)
        likeness = F.cosine_similarity(self.predict(a), b.detach()) + F.cosine_similarity(self.predict(b), a.detach())
        return 2 - likeness.mean()


class Moco(Encoded):
    """One positive, and a queue of stored negatives."""

    def __init__(self):
        super().__init__()
        self.register_buffer("queue", F.normalize(torch.randn(16, 32), dim=0))

    def forward(self, anchor, positive):
        q, k = F.normalize(self.encode(anchor)), F.normalize(self.encode(positive).detach())
        logits = torch.cat([(q * k).sum(-1, keepdim=True), q @ self.queue], 1) / 0.2
        return F.cross_entropy(logits, torch.zeros(BATCH, dtype=torch.long))


class Prototypes(Encoded):
    """Prototypical networks: distances from the mean of each class's supports."""

    def forward(self, anchor, supports, labels):
        centres = self.encode(supports.flatten(0, 1)).view(BATCH, 5, 3, 16).mean(2)
        return F.cross_entropy(-(self.encode(anchor)[:, None] - centres).square().sum(-1), labels)


class Sinkhorn(Encoded):
    """SwAV's three turns of normalising rows and columns."""

    def __init__(self):
        super().__init__()
        self.centres = nn.Linear(16, 10, bias=False)

    def forward(self, anchor, positive):
        a, b = (self.centres(F.normalize(self.encode(t))) for t in (anchor, positive))
        with torch.no_grad():
            share = (b / 0.5).exp()
            for _ in range(3):
                share = share / share.sum(0, keepdim=True) / 10
                share = share / share.sum(1, keepdim=True) / BATCH
            share = share * BATCH
        return -(share * (a / 0.1).log_softmax(-1)).sum(-1).mean()


SMALL = numbers(3, 16, 16)
VIEWS = fields(anchor=SMALL, positive=SMALL)
LABELLED = fields(anchor=SMALL, labels=classes(10))
add(__name__, fields(anchor=SMALL, positive=SMALL, negative=SMALL), "triplet", Triplet)
add(__name__, fields(anchor=SMALL, positive=SMALL, same=classes(2)), "siamese", Siamese)
for name, make in {"simclr": SimClr, "barlow_twins": BarlowTwins, "vicreg": VicReg, "byol": Byol, "moco": Moco, "swav": Sinkhorn}.items():
    add(__name__, VIEWS, name, make, dynamic=False)
add(__name__, fields(anchor=SMALL, labels=classes(2)), "supcon", SupCon, dynamic=False)
add(__name__, LABELLED, "arcface", ArcFace)
add(__name__, LABELLED, "center_loss", CenterLoss)
add(__name__, fields(anchor=SMALL, supports=numbers(15, 3, 16, 16), labels=classes(5)), "prototypes", Prototypes, dynamic=False)
