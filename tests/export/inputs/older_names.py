# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A ViT whose checkpoint has other names than its modules.

    older_names.py export FOLDER    saves the checkpoint, exports the model with other numbers, and writes data
    older_names.py compare FOLDER   compares what the program saved with what PyTorch trains from the checkpoint
"""
import os
import sys

import numpy
import torch
from safetensors import safe_open
from transformers import ViTConfig, ViTForImageClassification

import dtcc_export

STEPS, ROWS, RATE = 3, 4, 0.1
what, folder = sys.argv[1:]
checkpoint, saved, files = (os.path.join(folder, name) for name in ("checkpoint", "saved", "data"))
if what == "export":
    torch.manual_seed(0)
    config = ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=16, patch_size=8,
                       num_labels=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = ViTForImageClassification(config)
    model.save_pretrained(checkpoint)
    with safe_open(os.path.join(checkpoint, "model.safetensors"), "pt") as file:
        print(f"{len(set(file.keys()) - set(model.state_dict()))} tensors have other names")
    data = {"pixel_values": torch.randn(STEPS * ROWS, 3, 16, 16), "labels": torch.randint(0, 4, (STEPS * ROWS,))}
    os.makedirs(files, exist_ok=True)
    for name, cells in data.items():
        numpy.save(os.path.join(files, name + ".npy"), cells.numpy())
    other = ViTForImageClassification(config)
    dtcc_export.export(other, {name: cells[:ROWS] for name, cells in data.items()}, os.path.join(folder, "model.onnx"))
else:
    model = ViTForImageClassification.from_pretrained(checkpoint).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    data = {name: torch.tensor(numpy.load(os.path.join(files, name + ".npy"))) for name in ("pixel_values", "labels")}
    for step in range(STEPS):
        optimizer.zero_grad()
        model(**{name: cells[step * ROWS:(step + 1) * ROWS] for name, cells in data.items()}).loss.backward()
        optimizer.step()
    got, told = ViTForImageClassification.from_pretrained(saved, output_loading_info=True)
    print({name: len(told[name]) for name in ("missing_keys", "unexpected_keys", "mismatched_keys")})
    far = max((a - b).abs().max().item() for a, b in zip(model.state_dict().values(), got.state_dict().values(), strict=True))
    print("as PyTorch trains it" if far < 1e-5 else f"differs by {far}")
