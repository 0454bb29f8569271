# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of text beside images or sound."""
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
