# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpt2_shape.py LAYERS WIDTH HEADS FILE.onnx: exports GPT-2 of that shape, without dropout, and drops its weights.

Needs PyTorch, transformers, and tools/export in PYTHONPATH.
"""
import os
import sys

import torch
import transformers

import dtcc_export


def main():
    layers, width, heads = map(int, sys.argv[1:4])
    config = transformers.GPT2Config(n_layer=layers, n_embd=width, n_head=heads, attn_pdrop=0, embd_pdrop=0,
                                     resid_pdrop=0, attn_implementation="sdpa")
    ids = torch.zeros(2, 64, dtype=torch.int64)
    dtcc_export.export(transformers.GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids}, sys.argv[4])
    if os.path.exists(sys.argv[4] + ".data"):
        os.remove(sys.argv[4] + ".data")


main()
