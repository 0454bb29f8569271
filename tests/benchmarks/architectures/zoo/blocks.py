# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ConvNets by the block that names each: a stem, two blocks and a head, ten classes, images of 32 x 32."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from .registry import add

vision = torchvision.models


def layer(inner, outer, size=1, stride=1, groups=1, act=nn.ReLU, norm=nn.BatchNorm2d, **settings):
    parts = [nn.Conv2d(inner, outer, size, stride, settings.pop("padding", size // 2), groups=groups, bias=False, **settings), norm(outer)]
    return nn.Sequential(*parts, act()) if act else nn.Sequential(*parts)


class Net(nn.Module):
    def __init__(self, block, width=16):
        super().__init__()
        self.stem, self.blocks, self.head = layer(3, width, 3, 2), nn.Sequential(block(width), block(width)), nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Around(nn.Module):
    """A residual block around layers, scaled by what looks at them, if anything does."""

    def __init__(self, *layers, scale=None, act=F.relu):
        super().__init__()
        self.layers, self.scale, self.act = nn.Sequential(*layers), scale, act

    def forward(self, x):
        y = self.layers(x)
        return self.act(x + (y if self.scale is None else y * self.scale(y)))


class Squeeze(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down, self.up = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width, 1)

    def forward(self, x):
        return self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))).sigmoid()


class Efficient(nn.Module):
    """ECA: a convolution along the pooled channels."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Conv1d(1, 1, 3, padding=1, bias=False)

    def forward(self, x):
        return self.mix(x.mean((2, 3))[:, None]).sigmoid().transpose(1, 2)[..., None]


class Both(nn.Module):
    """CBAM: channels by mean and maximum, then places by theirs."""

    def __init__(self, width):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width, 4), nn.ReLU(), nn.Linear(4, width))
        self.place = nn.Conv2d(2, 1, 7, padding=3)

    def forward(self, x):
        channels = (self.mlp(x.mean((2, 3))) + self.mlp(x.amax((2, 3)))).sigmoid()[..., None, None]
        y = x * channels
        return channels * self.place(torch.cat([y.mean(1, keepdim=True), y.amax(1, keepdim=True)], 1)).sigmoid()


class Inception(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one, self.three, self.five = layer(width, 4), nn.Sequential(layer(width, 4), layer(4, 4, 3)), nn.Sequential(
            layer(width, 4), layer(4, 4, 5))
        self.pooled = nn.Sequential(nn.MaxPool2d(3, 1, 1), layer(width, width - 12))

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pooled(x)], 1)


class Fire(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down, self.one, self.three = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width // 2, 1), nn.Conv2d(4, width // 2, 3, padding=1)

    def forward(self, x):
        y = F.relu(self.down(x))
        return F.relu(torch.cat([self.one(y), self.three(y)], 1))


class Ghost(nn.Module):
    """Half of the channels are made cheaply from the other half."""

    def __init__(self, width):
        super().__init__()
        self.first, self.cheap = layer(width, width // 2), layer(width // 2, width // 2, 3, groups=width // 2)

    def forward(self, x):
        y = self.first(x)
        return x + torch.cat([y, self.cheap(y)], 1)


class Scales(nn.Module):
    """Res2Net: four groups of channels, each of which sees the one before."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList(layer(width // 4, width // 4, 3) for _ in range(3))

    def forward(self, x):
        first, *rest = x.chunk(4, 1)
        out, last = [first], 0.0
        for part, mix in zip(rest, self.layers):
            last = mix(part + last)
            out.append(last)
        return F.relu(x + torch.cat(out, 1))


class Selective(nn.Module):
    """SKNet: a softmax between two sizes of window for each channel."""

    def __init__(self, width):
        super().__init__()
        self.three, self.five = layer(width, width, 3, groups=4), layer(width, width, 3, groups=4, padding=2, dilation=2)
        self.down, self.up = nn.Linear(width, 4), nn.Linear(4, 2 * width)

    def forward(self, x):
        both = torch.stack([self.three(x), self.five(x)], 1)
        shares = self.up(F.relu(self.down(both.sum(1).mean((2, 3))))).view(-1, 2, x.shape[1]).softmax(1)
        return x + (both * shares[..., None, None]).sum(1)


class Reparametrised(nn.Module):
    """RepVGG: three branches that are one convolution afterwards."""

    def __init__(self, width):
        super().__init__()
        self.three, self.one, self.same = layer(width, width, 3, act=None), layer(width, width, act=None), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(self.three(x) + self.one(x) + self.same(x))


class Standardised(nn.Conv2d):
    """NFNet: the weight of each output is normalised, no activation is."""

    def forward(self, x):
        weight = self.weight
        mean = weight.mean((1, 2, 3), keepdim=True)
        spread = weight.var((1, 2, 3), keepdim=True, unbiased=False)
        weight = (weight - mean) * torch.rsqrt(torch.clamp(spread * weight[0].numel(), min=1e-4))
        return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class DualPath(nn.Module):
    """A part of the channels is added to, a part grows and is cut again."""

    def __init__(self, width):
        super().__init__()
        self.width, self.mix, self.cut = width, layer(width, width + 8, 3), layer(width + 8, width)

    def forward(self, x):
        y = self.mix(x)
        return self.cut(torch.cat([x + y[:, :self.width], y[:, self.width:]], 1))


class Hourglass(nn.Module):
    """Down to a quarter and up again, with a way past each size."""

    def __init__(self, width, depth=2):
        super().__init__()
        self.past, self.down, self.up = layer(width, width, 3), layer(width, width, 3), layer(width, width, 3)
        self.inner = Hourglass(width, depth - 1) if depth > 1 else layer(width, width, 3)

    def forward(self, x):
        y = self.up(self.inner(self.down(F.max_pool2d(x, 2))))
        return self.past(x) + F.interpolate(y, scale_factor=2.0)


class Octave(nn.Module):
    """Half of the channels at half of the size."""

    def __init__(self, width):
        super().__init__()
        half = width // 2
        self.hh, self.hl, self.lh, self.ll = (nn.Conv2d(half, half, 3, padding=1) for _ in range(4))

    def forward(self, x):
        high, low = x.chunk(2, 1)
        low = F.avg_pool2d(low, 2)
        new = F.relu(self.hh(high) + F.interpolate(self.lh(low), scale_factor=2.0))
        low = F.relu(self.ll(low) + self.hl(F.avg_pool2d(high, 2)))
        return torch.cat([new, F.interpolate(low, scale_factor=2.0)], 1)


class Involution(nn.Module):
    """A window's weights are made from its middle, by unfold."""

    def __init__(self, width):
        super().__init__()
        self.make = nn.Sequential(nn.Conv2d(width, 4, 1), nn.ReLU(), nn.Conv2d(4, 18, 1))

    def forward(self, x):
        batch, width, height, wide = x.shape
        weight = self.make(x).view(batch, 2, 1, 9, height * wide)
        windows = F.unfold(x, 3, padding=1).view(batch, 2, width // 2, 9, height * wide)
        return x + (weight * windows).sum(3).view(x.shape)


def pooled_pyramid(width):
    class Pooled(nn.Module):
        """Spatial pyramid pooling: maxima of three windows beside the map."""

        def __init__(self):
            super().__init__()
            self.down, self.up = layer(width, 8, act=nn.SiLU), layer(32, width, act=nn.SiLU)

        def forward(self, x):
            y = self.down(x)
            z = F.max_pool2d(y, 5, 1, 2)
            return self.up(torch.cat([y, z, F.max_pool2d(z, 5, 1, 2), F.max_pool2d(z, 9, 1, 4)], 1))
    return Pooled()


for name, block in {
    "resnet_basic": lambda w: Around(layer(w, w, 3), layer(w, w, 3, act=None)),
    "resnet_preact": lambda w: Around(nn.BatchNorm2d(w), nn.ReLU(), nn.Conv2d(w, w, 3, padding=1), act=lambda y: y),
    "resnext": lambda w: Around(layer(w, w), layer(w, w, 3, groups=4), layer(w, w, act=None)),
    "wide_resnet": lambda w: Around(layer(w, 2 * w, 3), layer(2 * w, w, 3, act=None)),
    "se_resnet": lambda w: Around(layer(w, w, 3), layer(w, w, 3, act=None), scale=Squeeze(w)),
    "eca_net": lambda w: Around(layer(w, w, 3), layer(w, w, 3, act=None), scale=Efficient()),
    "cbam": lambda w: Around(layer(w, w, 3), layer(w, w, 3, act=None), scale=Both(w)),
    "inception": Inception, "squeezenet": Fire, "ghostnet": Ghost, "res2net": Scales, "sknet": Selective, "repvgg": Reparametrised,
    "nfnet": lambda w: Around(nn.GELU(), Standardised(w, w, 3, padding=1), scale=Squeeze(w), act=lambda y: y),
    "dpn": DualPath, "hourglass": Hourglass, "octave": Octave, "involution": Involution, "spp_darknet": pooled_pyramid,
    "xception": lambda w: Around(nn.ReLU(), nn.Conv2d(w, w, 3, padding=1, groups=w, bias=False), nn.Conv2d(w, w, 1, bias=False),
                                 nn.BatchNorm2d(w)),
    "convmixer": lambda w: nn.Sequential(Around(nn.Conv2d(w, w, 5, padding="same", groups=w), nn.GELU(), nn.BatchNorm2d(w),
                                                act=lambda y: y), nn.Conv2d(w, w, 1), nn.GELU(), nn.BatchNorm2d(w)),
    "group_norm_resnet": lambda w: Around(layer(w, w, 3, norm=lambda n: nn.GroupNorm(4, n)), nn.Conv2d(w, w, 3, padding=1)),
}.items():
    add(__name__, "image", name, lambda block=block: Net(block))

# torchvision's own, in small.
mobile = vision.mobilenetv3.InvertedResidualConfig
fused = vision.efficientnet.FusedMBConvConfig
# On smaller images its last batch norms see four cells, and PyTorch's single precision is 1e-1 off.
add(__name__, "large image", "resnet_bottleneck", lambda: vision.ResNet(
    vision.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, width_per_group=8, groups=2))
add(__name__, "image", "mobilenet_v3", lambda: vision.MobileNetV3(
    [mobile(8, 3, 16, 8, True, "RE", 2, 1, 1.0), mobile(8, 5, 24, 16, True, "HS", 2, 1, 1.0)], 32, num_classes=10, dropout=0.0))
add(__name__, "image", "efficientnet_v2", lambda: vision.EfficientNet(
    [fused(1, 3, 1, 8, 8, 1), fused(2, 3, 2, 8, 16, 1), vision.efficientnet.MBConvConfig(4, 3, 2, 16, 16, 1, 1.0, 1.0)],
    dropout=0.0, stochastic_depth_prob=0.0, num_classes=10))
add(__name__, "image", "swin_v2", lambda: vision.SwinTransformer(
    [2, 2], 24, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10,
    block=vision.swin_transformer.SwinTransformerBlockV2, downsample_layer=vision.swin_transformer.PatchMergingV2))
add(__name__, "image", "maxvit", lambda: vision.MaxVit(
    (32, 32), 8, 4, [8, 16], [1, 1], 8, stochastic_depth_prob=0.0, num_classes=10))
add(__name__, "image", "vit_torchvision", lambda: vision.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10))
