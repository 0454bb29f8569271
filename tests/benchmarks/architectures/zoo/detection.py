# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detection, keypoints and segmentation: heads whose targets are scattered into maps, looked up in them, or matched."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from .registry import add, classes, fields, numbers

BOXES, SIDE = 3, 8


class Backbone(nn.Module):
    """Maps of 8 x 8 places."""

    def __init__(self, channels):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.SiLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.SiLU())
        self.head = nn.Conv2d(16, channels, 1)

    def features(self, x):
        return self.head(self.net(x)).flatten(2)


class Centers(Backbone):
    """CenterNet: heat spread around each centre, the greatest where objects meet; sizes read at the centres."""

    def __init__(self):
        super().__init__(4 + 2)

    def forward(self, x, place, kind, size):
        heat, sizes = self.features(x).split([4, 2], 1)
        grid = torch.arange(SIDE * SIDE)
        apart = (grid // SIDE - place[..., None] // SIDE).square() + (grid % SIDE - place[..., None] % SIDE).square()
        spread = (-apart.to(x.dtype) / 2).exp()[:, :, None] * F.one_hot(kind, 4).to(x.dtype)[..., None]
        target = spread.amax(1)
        share = heat.sigmoid().clamp(1e-4, 1 - 1e-4)
        found = (target == 1).to(x.dtype)
        loss = -(found * (1 - share).square() * share.log() + (1 - found) * (1 - target) ** 4 * share.square() * (1 - share).log()).sum()
        read = torch.gather(sizes, 2, place[:, None].expand(-1, 2, -1)).transpose(1, 2)
        return loss / BOXES / 64 + 0.1 * F.l1_loss(read, size)


class Scattered(Backbone):
    """A target map written cell by cell at the places of the objects."""

    def __init__(self):
        super().__init__(5)

    def forward(self, x, place, kind):
        target = torch.zeros_like(place[:, :1]).expand(-1, SIDE * SIDE).scatter(1, place, kind + 1)
        return F.cross_entropy(self.features(x), target)


class Summed(Backbone):
    """Embeddings pulled together by object: sums of places scattered by what object they belong to."""

    def __init__(self):
        super().__init__(6)

    def forward(self, x, owner):
        y = self.features(x).transpose(1, 2)
        batch = y.shape[0]
        index = owner[..., None].expand(-1, -1, 6)
        count = torch.zeros(batch, BOXES, 6, dtype=y.dtype).scatter_add(1, index, torch.ones_like(y)).clamp(min=1)
        mean = torch.zeros(batch, BOXES, 6, dtype=y.dtype).scatter_add(1, index, y) / count
        pull = (y - torch.gather(mean, 1, index)).square().sum(-1).mean()
        push = F.relu(1 - (mean[:, :, None] - mean[:, None]).square().sum(-1)).mean()
        return pull + push


class Retina(Backbone):
    """Three anchors a place, given to objects by overlap; focal and smooth losses."""

    def __init__(self):
        super().__init__(3 * (4 + 4))
        sizes, grid = torch.tensor([4.0, 8.0, 12.0]), (torch.arange(SIDE) * 4 + 2.0)
        y, x = torch.meshgrid(grid, grid, indexing="ij")
        centre = torch.stack([x, y], -1).view(-1, 1, 2).expand(-1, 3, -1)
        half = (sizes / 2)[None, :, None].expand(SIDE * SIDE, -1, 2)
        self.register_buffer("anchors", torch.cat([centre - half, centre + half], -1).view(-1, 4))

    def forward(self, x, corner, extent, kind):
        low = corner.sigmoid() * 24
        boxes = torch.cat([low, low + 2 + extent.sigmoid() * 8], -1)
        a = self.anchors.to(x.dtype)
        inner = (torch.minimum(a[None, :, None, 2:], boxes[:, None, :, 2:]) - torch.maximum(a[None, :, None, :2], boxes[:, None, :, :2])).clamp(min=0).prod(-1)
        area = ((a[:, 2:] - a[:, :2]).prod(-1)[None, :, None], (boxes[..., 2:] - boxes[..., :2]).prod(-1)[:, None])
        overlap, owner = (inner / (area[0] + area[1] - inner)).max(-1)
        said = self.features(x).view(x.shape[0], 3, 8, SIDE * SIDE).permute(0, 3, 1, 2).flatten(1, 2)
        own = torch.gather(boxes, 1, owner[..., None].expand(-1, -1, 4))
        classes_of = F.one_hot(torch.gather(kind, 1, owner), 4).to(x.dtype) * (overlap > 0.3)[..., None].to(x.dtype)
        focal = torchvision.ops.sigmoid_focal_loss(said[..., :4], classes_of, reduction="mean")
        offsets = (own - a) / (a[:, 2:] - a[:, :2]).repeat(1, 2)
        near = F.smooth_l1_loss(said[..., 4:], offsets, reduction="none").sum(-1) * (overlap > 0.3).to(x.dtype)
        return focal + near.sum() / (overlap > 0.3).sum().clamp(min=1).to(x.dtype)


class Overlap(Backbone):
    """FCOS: distances to four sides, trained by the generalised overlap, and a centre-ness."""

    def __init__(self):
        super().__init__(5)

    def forward(self, x, sides):
        said = self.features(x).transpose(1, 2)
        a, b = F.softplus(said[..., :4]) + 0.1, sides.exp()
        inner = torch.minimum(a[..., :2], b[..., :2]) + torch.minimum(a[..., 2:], b[..., 2:])
        outer = torch.maximum(a[..., :2], b[..., :2]) + torch.maximum(a[..., 2:], b[..., 2:])
        both = inner.prod(-1)
        union = (a[..., :2] + a[..., 2:]).prod(-1) + (b[..., :2] + b[..., 2:]).prod(-1) - both
        whole = outer.prod(-1)
        middle = torch.sqrt((torch.minimum(b[..., :2], b[..., 2:]) / torch.maximum(b[..., :2], b[..., 2:])).prod(-1))
        return (1 - both / union + (whole - union) / whole).mean() + F.binary_cross_entropy_with_logits(said[..., 4], middle)


class Queries(nn.Module):
    """DETR: learned queries in a decoder over an image, already matched with objects."""

    def __init__(self):
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, 32, 8, 8), nn.Parameter(torch.randn(1, 16, 32) * 0.02)
        layer = dict(dim_feedforward=64, dropout=0.0, batch_first=True)
        self.encode, self.decode = nn.TransformerEncoderLayer(32, 4, **layer), nn.TransformerDecoderLayer(32, 4, **layer)
        self.queries, self.kind, self.box = nn.Parameter(torch.randn(1, 5, 32)), nn.Linear(32, 5), nn.Linear(32, 4)

    def forward(self, x, match, kind, box):
        y = self.encode(self.patches(x).flatten(2).transpose(1, 2) + self.places)
        y = self.decode(self.queries.expand(x.shape[0], -1, -1), y)
        target = torch.full_like(match[:, :1], 4).expand(-1, 5).scatter(1, match, kind)
        own = torch.gather(self.box(y).sigmoid(), 1, match[..., None].expand(-1, -1, 4))
        return F.cross_entropy(self.kind(y).transpose(1, 2), target) + F.l1_loss(own, box.sigmoid())


class Pyramid(nn.Module):
    """A feature pyramid with a class for every pixel, and the Dice loss beside cross entropy."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 32, 3, 2, 1)
        self.pyramid, self.head = torchvision.ops.FeaturePyramidNetwork([8, 16, 32], 8), nn.Conv2d(8, 4, 1)

    def forward(self, x, pixels):
        one = F.relu(self.one(x))
        two = F.relu(self.two(one))
        maps = self.pyramid({"1": one, "2": two, "3": F.relu(self.three(two))})
        y = sum(F.interpolate(m, size=(16, 16), mode="bilinear") for m in maps.values())
        y = F.interpolate(self.head(y), size=(32, 32), mode="bilinear", align_corners=False)
        share, own = y.softmax(1), F.one_hot(pixels, 4).permute(0, 3, 1, 2).to(x.dtype)
        dice = 2 * (share * own).sum((2, 3)) / ((share + own).sum((2, 3)) + 1)
        return F.cross_entropy(y, pixels, ignore_index=3) + 1 - dice.mean()


class Atrous(nn.Module):
    """DeepLab: convolutions with several steps and a pooled one side by side."""

    def __init__(self):
        super().__init__()
        from torchvision.models.segmentation.deeplabv3 import ASPP
        self.first, self.middle, self.head = nn.Conv2d(3, 16, 3, 2, 1), ASPP(16, [2, 4], 8), nn.Conv2d(8, 4, 1)
        for module in self.middle.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0

    def forward(self, x, pixels):
        y = self.head(self.middle(F.relu(self.first(x))))
        return F.cross_entropy(F.interpolate(y, size=(32, 32), mode="bilinear", align_corners=False), pixels)


class Keypoints(Backbone):
    """The mean place of each heat map, by a softmax over places."""

    def __init__(self):
        super().__init__(3)

    def forward(self, x, place):
        shares = self.features(x).softmax(-1)
        grid = torch.arange(SIDE * SIDE)
        places = torch.stack([grid // SIDE, grid % SIDE], -1).to(x.dtype) / SIDE
        return F.mse_loss(shares @ places, place.sigmoid())


class Rois(nn.Module):
    """Regions read out of a map by ROI align, and classified."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Conv2d(3, 8, 3, 2, 1), nn.Linear(8 * 9, 5)

    def forward(self, x, corner, labels):
        low = corner.sigmoid() * 16
        boxes = torch.cat([torch.arange(4, dtype=x.dtype)[:, None], low, low + 10], -1)
        return F.cross_entropy(self.head(torchvision.ops.roi_align(F.relu(self.first(x)), boxes, 3, 0.5, 2, True).flatten(1)), labels)


X = numbers(3, 32, 32)
PLACE, KIND = classes(SIDE * SIDE, BOXES), classes(4, BOXES)
add(__name__, fields(x=X, place=PLACE, kind=KIND, size=numbers(BOXES, 2)), "center_net", Centers)
add(__name__, fields(x=X, place=PLACE, kind=KIND), "scattered_targets", Scattered)
add(__name__, fields(x=X, owner=classes(BOXES, SIDE * SIDE)), "associative_embedding", Summed)
add(__name__, fields(x=X, corner=numbers(BOXES, 2), extent=numbers(BOXES, 2), kind=KIND), "retina_net", Retina)
add(__name__, fields(x=X, sides=numbers(SIDE * SIDE, 4)), "fcos", Overlap)
add(__name__, fields(x=X, match=classes(5, BOXES), kind=KIND, box=numbers(BOXES, 4)), "detr", Queries)
add(__name__, fields(x=X, pixels=classes(4, 32, 32)), "feature_pyramid", Pyramid)
add(__name__, fields(x=X, pixels=classes(4, 32, 32)), "deeplab", Atrous)
add(__name__, fields(x=X, place=numbers(3, 2)), "keypoints", Keypoints)
add(__name__, fields(x=X, corner=numbers(2), labels=classes(5)), "roi_align", Rois, dynamic=False)
