# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder as transformers' `save_pretrained` writes it, as a module and an example to export it with."""
import json
import pathlib

import torch

from .losses import ExportError

# Ends of architecture names that are compiled: transformers fixes the names of their inputs and their losses.
TASKS = ("ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForSequenceClassification", "ForImageClassification")
BATCH, LENGTH = 2, 16


def is_folder(path):
    return (pathlib.Path(path) / "config.json").is_file()


def example(model, task):
    """Inputs of a step: numbers do not matter, sizes above 1 do."""
    config = model.config
    labels = torch.arange(BATCH) % max(getattr(config, "num_labels", 2), 1)
    if task == "ForImageClassification":
        size = config.image_size if isinstance(config.image_size, (tuple, list)) else (config.image_size,) * 2
        return {"pixel_values": torch.randn(BATCH, config.num_channels, *size), "labels": labels}
    ids = torch.arange(BATCH * LENGTH).reshape(BATCH, LENGTH) * 7 % config.vocab_size
    return {"input_ids": ids, "labels": labels if task == "ForSequenceClassification" else ids.clone()}


def from_folder(path):
    """(module, example inputs) of the model in a folder, in f32 and in training mode."""
    import transformers
    names = json.loads((pathlib.Path(path) / "config.json").read_text()).get("architectures") or []
    task = next((t for t in TASKS for n in names[:1] if n.endswith(t)), None)
    kind = getattr(transformers, names[0], None) if names else None
    if task is None or kind is None:
        raise ExportError(f"{path}/config.json: architectures must name a model of transformers that ends in one of "
                          f"{', '.join(TASKS)}, got: {names}; for another model write a factory")
    model = kind.from_pretrained(path, dtype=torch.float32)
    if hasattr(model.config, "use_cache"):
        model.config.use_cache = False
    return model.train(), example(model, task)
