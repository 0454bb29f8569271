# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shape.py NETWORK LAYERS WIDTH HEADS FILE.onnx: exports GPT-2 or LLaMA of that shape (peer.py) and drops its weights.

Needs PyTorch, transformers, and tools/export in PYTHONPATH.
"""
import os
import sys

import torch
import transformers

import dtcc_export


def gpt2(layers, width, heads):
    """Without dropout."""
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=heads, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0,
        attn_implementation="sdpa"))


def llama(layers, width, heads):
    """Four query heads share a head of keys; Llama 3's vocabulary, whose embedding is the last layer's weight."""
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=layers, hidden_size=width, intermediate_size=4 * width, num_attention_heads=heads,
        num_key_value_heads=heads // 4, vocab_size=128256, rope_theta=500000.0, tie_word_embeddings=True,
        attn_implementation="sdpa"))


def main():
    network, file = {"gpt2": gpt2, "llama": llama}[sys.argv[1]], sys.argv[5]
    ids = torch.zeros(2, 64, dtype=torch.int64)
    dtcc_export.export(network(*map(int, sys.argv[2:5])), {"input_ids": ids, "labels": ids}, file)
    if os.path.exists(file + ".data"):
        os.remove(file + ".data")


main()
