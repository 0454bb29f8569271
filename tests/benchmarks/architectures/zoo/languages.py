# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models of transformers: their tiny sizes, and how an entry names its classes."""
import transformers

from .registry import WORDS, add

SIZES = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=64, use_cache=False, bos_token_id=0, eos_token_id=0, pad_token_id=None)
DROPOUTS = ("attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop", "dropout", "dropout_rate",
            "attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout", "activation_dropout",
            "resid_dropout", "residual_dropout", "embd_dropout", "classifier_dropout_prob", "layerdrop")


def language(family, head="ForCausalLM", config="Config", kind="causal", base=SIZES, **sizes):
    """A model of transformers; head and config are the ends of its classes' names."""
    def make():
        settings = getattr(transformers, family + config)(**{**base, **sizes})
        for field in DROPOUTS:
            if isinstance(getattr(settings, field, None), (int, float)):
                setattr(settings, field, 0.0)
        return getattr(transformers, family + head)(settings)
    return kind, make


GROUPED = dict(num_key_value_heads=2)
HEADS = dict(num_key_value_heads=2, head_dim=8)
WINDOW = dict(sliding_window=8)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2)
OWN = dict(vocab_size=WORDS, use_cache=False)


def add_languages(family, rows, untraceable={}):
    """Models by name, and of some of them why PyTorch cannot export them."""
    for name, (kind, make) in rows.items():
        add(family, kind, name, make, untraceable=untraceable.get(name, ""))
