# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks that models.py compares, for both of its sides: those of ../shared/peers, and a small Mixtral."""
import os
import sys

import measure

sys.path.insert(0, os.path.join(measure.SHARED, "peers"))
import torch_train  # noqa: E402

BATCHES = {"gpt2-124m": 4, "llama-160m": 4, "bert-base": 4, "vit-base": 8, "resnet50": 8, "mixtral-small": 4}  # samples
LIKE = {"mixtral-small": "llama-160m"}  # whose batches it takes


def build(name, seq):
    """The network with its loss, from the seed's weights."""
    torch_train.torch.manual_seed(torch_train.SEED)
    if name == "mixtral-small":
        from transformers import MixtralConfig, MixtralForCausalLM
        network = MixtralForCausalLM(MixtralConfig(
            num_hidden_layers=6, hidden_size=512, intermediate_size=1024, num_attention_heads=8, num_key_value_heads=4,
            num_local_experts=8, num_experts_per_tok=2, vocab_size=torch_train.TOKEN_VOCABULARY["llama-160m"],
            max_position_embeddings=max(2048, seq), use_cache=False, attn_implementation="sdpa"))
    else:
        network = torch_train.build_network(name, seq)
    return torch_train.Task(network).train()


def batch(name, size, seq, step):
    return torch_train.make_batch(LIKE.get(name, name), size, seq, step)
