# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's GPT-2 on one GPU: bf16 autocast, scaled_dot_product_attention, fused AdamW; eager, or torch.compile.

    python3 tests/gpu/peer_gpt2.py --layers 12 --width 768 --heads 12 --batch 512 --microbatches 32 --seq 1024 [--compile]

Prints one JSON line: {"step_seconds": median, "losses": [..]}. The peer of the benchmarks of tests/gpu/run.
"""
import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 50257


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, 2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, width, heads, seq):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(seq, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits[:, :-1].reshape(-1, VOCABULARY).float(), ids[:, 1:].reshape(-1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("layers", 12), ("width", 768), ("heads", 12), ("batch", 512), ("microbatches", 32), ("seq", 1024),
                        ("steps", 8), ("warmup", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = Gpt2(arguments.layers, arguments.width, arguments.heads, arguments.seq).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    loss_of = torch.compile(model) if arguments.compile else model
    times, losses = [], []
    for step in range(arguments.steps + arguments.warmup):
        ids = torch.randint(VOCABULARY, (arguments.batch, arguments.seq), device="cuda")
        torch.cuda.synchronize()
        began = time.perf_counter()
        total = 0.0
        for part in ids.chunk(arguments.microbatches):
            with torch.autocast("cuda", torch.bfloat16):
                loss = loss_of(part) / arguments.microbatches
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(total.item())
        if step >= arguments.warmup:
            times.append(time.perf_counter() - began)
    print(json.dumps({"step_seconds": statistics.median(times), "losses": losses,
                      "peak_gib": torch.cuda.max_memory_allocated() / 2**30}))


if __name__ == "__main__":
    main()
