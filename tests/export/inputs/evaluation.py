# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module that computes otherwise in evaluation form (dropout, batch norm, instance norm), and a GPT-2 with dropout.

    evaluation.py data NAME              writes data/ and eval/, a .npy for each input
    evaluation.py check NAME WEIGHTS METRICS
                                         the last eval_loss in METRICS must be that of module.eval() with WEIGHTS, and so
                                         must eval_accuracy, if the model has classes
"""
import json
import os
import sys

import numpy
import torch
from torch.nn import functional as F

SAMPLES, BATCH = {"data": 24, "eval": 16}, 8


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 6, 3)
        self.instance = torch.nn.InstanceNorm2d(6, affine=True, track_running_stats=True)
        self.norm = torch.nn.BatchNorm2d(6)
        self.inner = torch.nn.Linear(6, 16)
        self.last = torch.nn.BatchNorm1d(16)
        self.head = torch.nn.Linear(16, 5)

    def forward(self, x):
        x = torch.relu(self.norm(torch.tanh(self.instance(self.conv(x))))).mean((2, 3))
        x = F.dropout(torch.relu(self.last(self.inner(x))), 0.3, self.training)
        return self.head(x)


def classifier():
    torch.manual_seed(0)
    return Classifier(), {"x": torch.randn(BATCH, 3, 8, 8), "labels": torch.randint(5, (BATCH,))}, {"loss": "cross_entropy"}


def gpt2():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.GPT2Config(vocab_size=61, n_positions=16, n_embd=24, n_layer=2, n_head=4, use_cache=False, bos_token_id=0,
                           eos_token_id=0, resid_pdrop=0.2, embd_pdrop=0.2, attn_pdrop=0.2)
    ids = torch.randint(61, (BATCH, 16))
    return hf.GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids.clone()}


def samples(name, inputs):
    """Other values than those of the example, the same in every run."""
    torch.manual_seed(len(name))
    made = {}
    for key, value in inputs.items():
        shape = (SAMPLES[name],) + tuple(value.shape[1:])
        made[key] = torch.randn(shape) if value.is_floating_point() else torch.randint(int(value.max()) + 1, shape)
    if "input_ids" in made:
        made["labels"] = made["input_ids"]
    return made


def losses(module, inputs, hits):
    for first in range(0, SAMPLES["eval"], BATCH):
        batch = {key: value[first:first + BATCH].double() if value.is_floating_point() else value[first:first + BATCH]
                 for key, value in inputs.items()}
        labels = batch.pop("labels")
        if hasattr(module, "config"):
            yield module(**batch, labels=labels).loss.item()
        else:
            logits = module(**batch)
            hits.append((logits.argmax(-1) == labels).double().mean().item())
            yield F.cross_entropy(logits, labels).item()


def main():
    module, inputs, *_ = globals()[sys.argv[2]]()
    if sys.argv[1] == "data":
        for name in SAMPLES:
            os.makedirs(name, exist_ok=True)
            for key, value in samples(name, inputs).items():
                numpy.save(f"{name}/{key}.npy", value.numpy())
        return
    import safetensors.torch
    missing, extra = module.load_state_dict(safetensors.torch.load_file(sys.argv[3]), strict=False)
    # Tied weights are saved once; a counter of batch norms has no part in the loss.
    assert not extra and all(key.endswith(("num_batches_tracked", "lm_head.weight")) for key in missing), (missing, extra)
    rows = [json.loads(line) for line in open(sys.argv[4])]
    found = [row["eval_loss"] for row in rows if "eval_loss" in row]
    data, hits = samples("eval", inputs), []
    with torch.no_grad():
        wanted = numpy.mean(list(losses(module.double().eval(), data, hits)))
        training = numpy.mean(list(losses(module.double().train(), data, [])))
    print(f"evaluations {len(found)}, relative difference {abs(found[-1] - wanted) / wanted:.1e}")
    assert abs(found[-1] - wanted) <= 1e-6 * wanted, (found, wanted)
    accuracies = [row["eval_accuracy"] for row in rows if "eval_accuracy" in row]
    assert len(accuracies) == (len(found) if hits else 0), rows
    if hits:
        print(f"accuracy {accuracies[-1]:.4f}")
        assert accuracies[-1] == numpy.mean(hits) and 0 < accuracies[-1] < 1, (accuracies, hits)
    # The test would see nothing if both forms had one loss.
    assert abs(training - wanted) > 1e-3 * wanted, (training, wanted)


if __name__ == "__main__":
    main()
