# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of transformers models, for dtcc to start from, and what transformers makes of those that dtcc saves.

    checkpoints.py make FOLDER             FOLDER/start (shards of a small LLaMA), start16 (bf16), bare.onnx (its graph without
                                           weights), input_ids.npy, labels.npy
    checkpoints.py loss MODEL METRICS STEP whether from_pretrained(MODEL) has the loss of that step
    checkpoints.py strict MODEL OTHER      whether a module loads MODEL's tensors strictly; whether they are OTHER's bit by bit
    checkpoints.py trained START MODEL     whether three steps of PyTorch's AdamW lead from START to MODEL
"""
import glob
import json
import logging
import os
import sys
import warnings

import numpy as np
import onnx
import safetensors.torch
import torch
import transformers

import dtcc_export
import zoo

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
transformers.utils.logging.disable_progress_bar()


def batch():
    return torch.randint(2, 61, (2, 16), generator=torch.Generator().manual_seed(1))


def make(folder):
    module, inputs = zoo.llama()
    config = module.config
    config.tie_word_embeddings = True
    module = transformers.LlamaForCausalLM(config)
    module.save_pretrained(os.path.join(folder, "start"), max_shard_size="20KB")
    path = os.path.join(folder, "bare.onnx")
    dtcc_export.export(module, inputs, path)
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name in dict(module.named_parameters()):
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="nowhere")
    onnx.save(model, path)
    for name in ("input_ids", "labels"):
        np.save(os.path.join(folder, name + ".npy"), np.tile(batch().numpy(), (4, 1)))
    module.bfloat16().save_pretrained(os.path.join(folder, "start16"))


def loss_of(module):
    return module(input_ids=batch(), labels=batch()).loss


def loss(path, metrics, step):
    module = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float64)
    steps = {r["step"]: r["loss"] for r in map(json.loads, open(metrics)) if "step" in r}
    print(f"loss differs by {abs(loss_of(module).item() / steps[int(step)] - 1):.1e}")


def tensors(path):
    return {k: v for f in sorted(glob.glob(path + "/*.safetensors")) for k, v in safetensors.torch.load_file(f).items()}


def strict(path, other):
    held = tensors(path)
    module = transformers.LlamaForCausalLM(transformers.AutoConfig.from_pretrained(path))
    module.load_state_dict(held, strict=True)
    equal = all(torch.equal(held[k], v) and held[k].dtype == v.dtype for k, v in tensors(other).items())
    print(f"{len(held)} tensors load strictly; equal bit by bit: {equal}")


def trained(start, path):
    module = transformers.AutoModelForCausalLM.from_pretrained(start, dtype=torch.float64)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(module).backward()
        optimizer.step()
    held = tensors(path)
    print(f"parameters differ by {max((held[k] - v).abs().max().item() for k, v in module.state_dict().items()):.1e}")


globals()[sys.argv[1]](*sys.argv[2:])
