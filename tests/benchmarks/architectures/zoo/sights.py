# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classifiers of images of transformers, ten classes."""
import transformers
from torch import nn

from .registry import add


class Sight(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(pixel_values=x).logits


def sight(family, **sizes):
    """A classifier of images of transformers, ten classes."""
    def make():
        config = getattr(transformers, family + "Config")(**{**dict(
            hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8,
            num_labels=10, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), **sizes})
        for field in ("drop_path_rate", "dropout", "classifier_dropout_prob"):
            if isinstance(getattr(config, field, None), float):
                setattr(config, field, 0.0)
        return Sight(getattr(transformers, family + "ForImageClassification")(config))
    return make


STAGES = dict(num_encoder_blocks=2, depths=[1, 1], hidden_sizes=[8, 16], strides=[4, 2], num_attention_heads=[1, 2])
for family, sizes in {
    "DeiT": {}, "Dinov2": {}, "Dinov2WithRegisters": {}, "Beit": {}, "IJepa": {}, "ViTMSN": {},
    "ConvNextV2": dict(num_stages=2, hidden_sizes=[8, 16], depths=[1, 1]),
    "PoolFormer": dict(hidden_sizes=[8, 16], depths=[1, 1], num_encoder_blocks=2, strides=[4, 2], patch_sizes=[7, 3],
                       padding=[2, 1], mlp_ratio=2.0),
    "Segformer": dict(**STAGES, sr_ratios=[2, 1], patch_sizes=[7, 3], mlp_ratios=[2, 2], decoder_hidden_size=16),
    "Pvt": dict(**STAGES, sequence_reduction_ratios=[2, 1], patch_sizes=[4, 2], mlp_ratios=[2, 2]),
    "PvtV2": dict(**STAGES, sr_ratios=[2, 1], patch_sizes=[7, 3], mlp_ratios=[2, 2]),
    "FocalNet": dict(embed_dim=16, depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3]),
    "Levit": dict(hidden_sizes=[16, 24], num_attention_heads=[2, 2], depths=[1, 1], key_dim=[8, 8], mlp_ratio=[2, 2],
                  attention_ratio=[2, 2], patch_size=16, down_ops=[["Subsample", 8, 2, 4, 2, 2], [""]]),
    "Hiera": dict(embed_dim=16, image_size=[32, 32], patch_size=[7, 7], patch_stride=[4, 4], patch_padding=[3, 3], depths=[1, 1],
                  num_heads=[1, 2], mlp_ratio=2.0, num_query_pool=1, query_stride=[2, 2], masked_unit_size=[4, 4],
                  masked_unit_attention=[True, False]),
    "MobileViT": dict(hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32]),
}.items():
    add(__name__, "image", family.lower(), sight(family, **sizes))
