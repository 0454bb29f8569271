# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of tokens that train on documents, as python -m dtcc_export documents:NAME exports them.

    documents.py data                          writes tokens.npy, in which EOS ends documents of many lengths, from 1 on
    documents.py check NAME:MODE:METRICS ..    the losses in METRICS must be PyTorch's in double precision, to 1e-6

MODE is cross-eos or cross-bos (windows that follow one another, attention within documents) or start-eos or start-bos
(windows that start at documents). PyTorch has no mask here: it runs each document of a window by itself."""
import json
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, LENGTH, BATCH, EOS, STEPS, RATE = 61, 16, 4, 7, 4, 0.05


class Plain(nn.Module):
    """nanoGPT's form: learned positions, of an arange unless the caller gives them, and labels that the corpus shifts."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, 24), nn.Embedding(2 * LENGTH, 24)
        self.qkv, self.proj, self.norm = nn.Linear(24, 72), nn.Linear(24, 24), nn.LayerNorm(24)
        self.head = nn.Linear(24, VOCABULARY)

    def forward(self, input_ids, position_ids=None):
        place = torch.arange(input_ids.shape[1], device=input_ids.device) if position_ids is None else position_ids
        x = self.tokens(input_ids) + self.positions(place)
        for _ in range(2):
            q, k, v = (part.view(*part.shape[:2], 4, 6).transpose(1, 2) for part in self.qkv(self.norm(x)).split(24, -1))
            x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return self.head(x)


def example(module):
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH))
    return module, {"input_ids": ids, "labels": ids.clone()}


def plain():
    torch.manual_seed(0)
    return *example(Plain()), {"loss": "cross_entropy"}


def placed():
    module, inputs, loss = plain()
    places = torch.arange(LENGTH).repeat(BATCH, 1)
    return module, {"input_ids": inputs["input_ids"], "position_ids": places, "labels": inputs["labels"]}, loss


def gpt2():
    import transformers as hf
    torch.manual_seed(0)
    return example(hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=VOCABULARY, n_positions=2 * LENGTH, n_embd=24, n_layer=2, n_head=4, use_cache=False, bos_token_id=EOS,
        eos_token_id=EOS, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)))


def llama():
    import transformers as hf
    torch.manual_seed(0)
    return example(hf.LlamaForCausalLM(hf.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=2 * LENGTH, use_cache=False)))


def corpus():
    random = numpy.random.default_rng(3)
    ids = random.integers(8, VOCABULARY, 700)
    ids[numpy.cumsum(random.choice([1, 2, 5, 9, 14, 23, 40], 40))[:40]] = EOS
    return ids.astype(numpy.uint16)


def documents(ids, mark):
    """The parts of `ids` that a mark ends or begins."""
    ends = [i + 1 for i, token in enumerate(ids) if token == EOS] if mark == "eos" else [
        i for i, token in enumerate(ids) if token == EOS and i > 0]
    bounds = sorted({0, *ends, len(ids)})
    return [ids[a:b] for a, b in zip(bounds, bounds[1:])]


def windows(ids, mode, mark, shift):
    """Ids, labels and lengths of documents of each window. Label -100 does not count."""
    found = []
    if mode == "cross":
        for begin in range(0, len(ids) - LENGTH - shift + 1, LENGTH):
            window = ids[begin:begin + LENGTH]
            found.append((window, ids[begin + shift:begin + shift + LENGTH], [len(d) for d in documents(window, mark)]))
        return found
    whole = documents(ids, mark)
    for number, document in enumerate(whole):
        if mark == "bos" and number + 1 < len(whole):
            document = document + [EOS]  # the mark of the next one is the end of this one
        for begin in range(0, max(0, len(document) - 1), LENGTH):
            part = document[begin:begin + LENGTH]
            labels = document[begin + shift:begin + shift + LENGTH]
            found.append((part + [EOS] * (LENGTH - len(part)), labels + [-100] * (LENGTH - len(labels)), [LENGTH]))
    return found


def loss_of(module, batch, shift):
    total, count = 0, 0
    for ids, labels, lengths in batch:
        logits = []
        for part in torch.tensor(ids).split(lengths):
            out = module(input_ids=part[None])
            logits.append((out.logits if hasattr(out, "logits") else out)[0])
        logits, labels = torch.cat(logits), torch.tensor(labels)
        if not shift:
            logits, labels = logits[:-1], labels[1:]
        total = total + F.cross_entropy(logits, labels, ignore_index=-100, reduction="sum")
        count += (labels != -100).sum()
    return total / count


def check(name, mode, path):
    module, *_ = globals()[name]()
    kind, mark = mode.split("-")
    shift = 0 if hasattr(module, "config") else 1
    samples = windows(corpus().tolist(), kind, mark, shift)
    optimizer = torch.optim.SGD(module.double().parameters(), lr=RATE)
    with open(path) as file:
        found = [row["loss"] for row in map(json.loads, file) if "loss" in row]
    # The test would see nothing if attention across documents had the same loss.
    with torch.no_grad():
        across = loss_of(module, [(ids, labels, [LENGTH]) for ids, labels, _ in samples[:BATCH]], shift).item()
    wanted = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(module, samples[step * BATCH:(step + 1) * BATCH], shift)
        loss.backward()
        optimizer.step()
        wanted.append(loss.item())
    worst = max(abs(a - b) / b for a, b in zip(found, wanted, strict=True))
    print(f"{path}: relative difference {worst:.1e}", flush=True)
    assert worst <= 1e-6, (found, wanted)
    assert kind == "start" or abs(across - wanted[0]) > 1e-5 * across, (across, wanted[0])


def main():
    if sys.argv[1] == "data":
        numpy.save("tokens.npy", corpus())
        return
    for each in sys.argv[2:]:
        check(*each.split(":"))


if __name__ == "__main__":
    main()
