# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small models of transformers as folders, one a kind that the export script knows, and compares two of them.

hub_folders.py make FOLDER
hub_folders.py moved BEFORE AFTER      fails unless AFTER loads, as the model of BEFORE with other parameters
"""
import sys

import torch
import transformers as hf


def make(folder):
    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    models = {
        "llama": hf.LlamaForCausalLM(hf.LlamaConfig(num_key_value_heads=1, **sizes)),
        "gpt2": hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=64, n_positions=32, n_embd=16, n_layer=1, n_head=2)),
        "bert": hf.BertForSequenceClassification(hf.BertConfig(num_labels=3, **sizes)),
        "vit": hf.ViTForImageClassification(hf.ViTConfig(image_size=16, patch_size=8, num_labels=3, **{
            k: v for k, v in sizes.items() if k != "vocab_size"})),
        "t5": hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2)),
    }
    for name, model in models.items():
        model.save_pretrained(f"{folder}/{name}")


def moved(before, after):
    first, last = (hf.AutoModelForCausalLM.from_pretrained(p).state_dict() for p in (before, after))
    assert first.keys() == last.keys()
    assert all(not torch.equal(first[n], last[n]) for n in first if first[n].is_floating_point())


if __name__ == "__main__":
    {"make": make, "moved": moved}[sys.argv[1]](*sys.argv[2:])
