# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ConvNets and window attention of torchvision: ten classes, images of 32 x 32."""
import torchvision

from .registry import add

vision = torchvision.models
add(__name__, "image", "convnext", lambda: vision.ConvNeXt(
    [vision.convnext.CNBlockConfig(16, 32, 2), vision.convnext.CNBlockConfig(32, None, 2)], stochastic_depth_prob=0.0,
    num_classes=10))
add(__name__, "image", "mobilenet_v2", lambda: vision.MobileNetV2(
    num_classes=10, dropout=0.0, inverted_residual_setting=[[1, 8, 1, 1], [6, 16, 2, 2]]))
add(__name__, "image", "efficientnet", lambda: vision.EfficientNet(
    [vision.efficientnet.MBConvConfig(1, 3, 1, 16, 8, 1, 1.0, 1.0),
     vision.efficientnet.MBConvConfig(4, 3, 2, 8, 16, 2, 1.0, 1.0)], dropout=0.0, stochastic_depth_prob=0.0, num_classes=10))
add(__name__, "image", "vgg", lambda: vision.VGG(
    vision.vgg.make_layers([8, "M", 512, "M"], batch_norm=True), num_classes=10, dropout=0.0))
add(__name__, "image", "densenet", lambda: vision.DenseNet(
    growth_rate=8, block_config=(2, 2), num_init_features=16, num_classes=10))
add(__name__, "image", "swin", lambda: vision.SwinTransformer(
    [2, 2], 24, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10))
add(__name__, "image", "shufflenet", lambda: vision.ShuffleNetV2([1, 1, 1], [24, 16, 32, 64, 64], num_classes=10))
add(__name__, "image", "regnet", lambda: vision.RegNet(vision.regnet.BlockParams.from_init_params(
    depth=4, w_0=8, w_a=8.0, w_m=2.0, group_width=8, se_ratio=0.25), num_classes=10))
