# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shape.py FILE.onnx NETWORK [LAYERS WIDTH HEADS]: exports GPT-2 or LLaMA of that shape (peer.py), or one of networks.py.

Needs PyTorch, transformers, and tools/export in PYTHONPATH.
"""
import sys

import torch
import transformers

import dtcc_export
import networks


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


def sample(what):
    """Two samples of an input of networks.py."""
    sizes = (2, *what["sizes"])
    return torch.randint(what["below"], sizes) if "below" in what else torch.randn(sizes)


def main():
    file, network, *sizes = sys.argv[1:]
    if network in networks.INPUTS:
        inputs = {name: sample(what) for name, what in networks.INPUTS[network].items()}
        dtcc_export.export(networks.build(network), inputs, file)
    else:
        ids = torch.zeros(2, 64, dtype=torch.int64)
        dtcc_export.export({"gpt2": gpt2, "llama": llama}[network](*map(int, sizes)), {"input_ids": ids, "labels": ids}, file)


main()
