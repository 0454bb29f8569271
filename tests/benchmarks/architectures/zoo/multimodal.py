# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of text beside images or sound."""
import torch
import torch.nn.functional as F
import transformers
from torch import nn

from .registry import WORDS, add


class Loss(nn.Module):
    """A model of transformers that says its loss, by the names of its inputs."""

    def __init__(self, model, **settings):
        super().__init__()
        self.model, self.settings = model, settings


class Pair(Loss):
    def forward(self, input_ids, x):
        return self.model(input_ids=input_ids, pixel_values=x, **self.settings).loss


class Speech(Loss):
    def forward(self, sound, labels):
        return self.model(input_features=sound, labels=labels, **self.settings).loss


def two_towers(family):
    """CLIP and its like: a text and an image, brought together."""
    words = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                 max_position_embeddings=16, bos_token_id=0, eos_token_id=1, pad_token_id=2)
    sights = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)
    config = getattr(transformers, family + "Config")
    return Pair(getattr(transformers, family + "Model")(config(text_config=words, vision_config=sights)), return_loss=True)


def whisper():
    return Speech(transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        vocab_size=WORDS, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=16, max_target_positions=16,
        dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None, use_cache=False)))


add(__name__, "pair", "clip", lambda: two_towers("CLIP"))
add(__name__, "pair", "siglip", lambda: two_towers("Siglip"))
add(__name__, "speech", "whisper", whisper)


class Seen(nn.Module):
    """A model of transformers that reads words among which places are kept for an image, and says its loss. `typed`: it is
    told which is which, since it masks no attention otherwise (PaliGemma)."""

    def __init__(self, model, image=WORDS, tokens=16, typed=False):
        super().__init__()
        self.model, self.image, self.tokens, self.typed = model, image, tokens, typed

    def forward(self, input_ids, x):
        places = torch.full_like(input_ids[:, :1], self.image).expand(-1, self.tokens)
        types = {"token_type_ids": torch.cat([torch.zeros_like(places), torch.ones_like(input_ids)], 1)} if self.typed else {}
        return self.model(input_ids=torch.cat([places, input_ids], 1), pixel_values=x, **types,
                          labels=torch.cat([torch.full_like(places, -100), input_ids], 1)).loss


SIGHT = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, image_size=32, patch_size=8)
TEXT = dict(vocab_size=WORDS + 1, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=64, use_cache=False)


def llava():
    return Seen(transformers.LlavaForConditionalGeneration(transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**SIGHT), text_config=transformers.LlamaConfig(**TEXT), image_token_id=WORDS,
        vision_feature_layer=-1)))


def paligemma():
    return Seen(transformers.PaliGemmaForConditionalGeneration(transformers.PaliGemmaConfig(
        vision_config=transformers.SiglipVisionConfig(**SIGHT, projection_dim=32, vision_use_head=False),
        text_config=transformers.GemmaConfig(**TEXT, head_dim=8), image_token_id=WORDS, projection_dim=32)), typed=True)


class Fused(nn.Module):
    """ViLT: words and patches in one encoder."""

    def __init__(self):
        super().__init__()
        self.words, self.patches = nn.Embedding(WORDS, 32), nn.Conv2d(3, 32, 8, 8)
        self.kinds, self.places = nn.Parameter(torch.randn(2, 32) * 0.02), nn.Parameter(torch.randn(1, 17, 32) * 0.02)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, WORDS)

    def forward(self, input_ids, x):
        words = self.words(input_ids) + self.kinds[0]
        patches = self.patches(x).flatten(2).transpose(1, 2) + self.kinds[1] + self.places[:, :16]
        said = self.head(self.layers(torch.cat([words, patches], 1))[:, :input_ids.shape[1]])
        return F.cross_entropy(said.flatten(0, 1), input_ids.flatten())


class Captions(nn.Module):
    """CoCa: one decoder layer that sees no image and one that does, a contrastive and a captioning loss."""

    def __init__(self):
        super().__init__()
        self.words, self.patches = nn.Embedding(WORDS, 32), nn.Conv2d(3, 32, 8, 8)
        layer = dict(dim_feedforward=64, dropout=0.0, batch_first=True, norm_first=True)
        self.alone, self.beside = nn.TransformerEncoderLayer(32, 4, **layer), nn.TransformerDecoderLayer(32, 4, **layer)
        self.head, self.warmth = nn.Linear(32, WORDS), nn.Parameter(torch.tensor([1.0]))

    def forward(self, input_ids, x):
        patches, length = self.patches(x).flatten(2).transpose(1, 2), input_ids.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        words = self.alone(self.words(input_ids), src_mask=later)
        near = F.normalize(words[:, -1], dim=-1) @ F.normalize(patches.mean(1), dim=-1).T * self.warmth.exp()
        own = torch.arange(input_ids.shape[0])
        said = self.head(self.beside(words, patches, tgt_mask=later))[:, :-1]
        return (F.cross_entropy(near, own) + F.cross_entropy(near.T, own)) / 2 + F.cross_entropy(
            said.flatten(0, 1), input_ids[:, 1:].flatten())


add(__name__, "pair", "llava", llava, dynamic=False)
add(__name__, "pair", "paligemma", paligemma, dynamic=False)
add(__name__, "pair", "vilt", Fused)
add(__name__, "pair", "coca", Captions, dynamic=False)
