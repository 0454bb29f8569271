# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's GPT-2, LLaMA, ResNet-50, ViT-L or a network of networks.py on one GPU: bf16 autocast,
scaled_dot_product_attention, images with channels last, fused AdamW; eager, or torch.compile.

    python3 tests/gpu/peer.py gpt2 --layers 12 --width 768 --heads 12 --batch 512 --microbatches 32 --seq 1024 [--compile]
    python3 tests/gpu/peer.py resnet50 --batch 256 --microbatches 1 [--compile]     # torchvision's, as vit-large

Prints one JSON line: {"step_seconds": median, "losses": [..]}. The peer of the benchmarks of tests/gpu/run.
"""
import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

import networks


class Gpt2Block(nn.Module):
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
    vocabulary = 50257

    def __init__(self, layers, width, heads, seq):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(self.vocabulary, width), nn.Embedding(seq, width)
        self.blocks = nn.ModuleList(Gpt2Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, self.vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def rotated(x, cosines, sines):
    """Rotary embedding (Su et al., 2021) of [batch, heads, positions, size] as Llama's: halves are the pairs."""
    first, second = x.chunk(2, -1)
    return x * cosines + torch.cat((-second, first), -1) * sines


class LlamaBlock(nn.Module):
    """A layer with four query heads for each head of keys, and a hidden layer four times as wide."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.shared, self.size = heads, heads // 4, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        linear = lambda rows, columns: nn.Linear(rows, columns, bias=False)  # noqa: E731
        self.q, self.out = linear(width, width), linear(width, width)
        self.k, self.v = linear(width, self.shared * self.size), linear(width, self.shared * self.size)
        self.gate, self.up, self.down = linear(width, 4 * width), linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x, cosines, sines):
        b, t, c = x.shape
        y = self.norm1(x)
        q, k, v = (part(y).view(b, t, -1, self.size).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = rotated(q, cosines, sines), rotated(k, cosines, sines)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, c))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    vocabulary = 128256

    def __init__(self, layers, width, heads, seq):
        super().__init__()
        self.tokens = nn.Embedding(self.vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, self.vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        size = width // heads
        angles = torch.arange(seq)[:, None] * 500000.0 ** (-torch.arange(0, size, 2) / size)
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cosines", angles.cos().to(torch.bfloat16))
        self.register_buffer("sines", angles.sin().to(torch.bfloat16))

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x, self.cosines, self.sines)
        return self.head(self.norm(x))


NETWORKS = {"gpt2": Gpt2, "llama": Llama}
IMAGES = {"resnet50": "resnet50", "vit-large": "vit_l_16"}  # torchvision's names


def language(arguments):
    """A model, its loss over [batch, positions] of token ids, and a function that draws those."""
    network = NETWORKS[arguments.network]
    network.vocabulary = arguments.vocabulary or network.vocabulary
    model = network(arguments.layers, arguments.width, arguments.heads, arguments.seq).cuda()

    def loss_of(ids):
        logits = model(ids)[:, :-1]
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), ids[:, 1:].reshape(-1))
    return model, loss_of, lambda: (torch.randint(network.vocabulary, (arguments.batch, arguments.seq), device="cuda"),)


def images(arguments):
    """The same over images of 3 x 224 x 224 and labels, which lie on the GPU already."""
    import torchvision
    model = getattr(torchvision.models, IMAGES[arguments.network])().cuda().to(memory_format=torch.channels_last)

    def loss_of(pixels, labels):
        return F.cross_entropy(model(pixels).float(), labels)

    def draw():
        pixels = torch.randn(arguments.batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        return pixels, torch.randint(1000, (arguments.batch,), device="cuda")
    return model, loss_of, draw


def other(arguments):
    """The same of networks.py."""
    inputs = networks.INPUTS[arguments.network]
    model = networks.build(arguments.network).cuda()
    if any(len(what["sizes"]) == 3 for what in inputs.values()):
        model = model.to(memory_format=torch.channels_last)

    def sample(what):
        sizes = (arguments.batch, *what["sizes"])
        if "below" in what:
            return torch.randint(what["below"], sizes, device="cuda")
        return torch.randn(sizes, device="cuda").to(memory_format=torch.channels_last)
    return model, model, lambda: tuple(sample(what) for what in inputs.values())


def optimizers_of(kind, model):
    """Those that step together. Muon's own is for the matrices of layers, as its authors have it; AdamW for the rest."""
    def adamw(parameters):
        return torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    if kind == "adafactor":
        return [torch.optim.Adafactor(model.parameters(), lr=1e-2)]
    if kind == "adamw":
        return [adamw(model.parameters())]
    embeddings = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    matrices = [p for p in model.parameters() if p.dim() == 2 and p not in embeddings]
    others = [p for p in model.parameters() if p.dim() != 2 or p in embeddings]
    return [torch.optim.Muon(matrices, lr=2e-2), adamw(others)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=(*NETWORKS, *IMAGES, *networks.INPUTS))
    for name, value in (("layers", 12), ("width", 768), ("heads", 12), ("batch", 512), ("microbatches", 32), ("seq", 1024),
                        ("steps", 8), ("warmup", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--optimizer", default="adamw", choices=("adamw", "muon", "adafactor"))
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--vocabulary", type=int, help="the network's own, or what it is padded to")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    kind = language if arguments.network in NETWORKS else images if arguments.network in IMAGES else other
    model, loss_of, draw = kind(arguments)
    optimizers = optimizers_of(arguments.optimizer, model)
    if arguments.compile:
        loss_of = torch.compile(loss_of)
    times, losses = [], []
    for step in range(arguments.steps + arguments.warmup):
        inputs = draw()
        torch.cuda.synchronize()
        began = time.perf_counter()
        total = 0.0
        for parts in zip(*(value.chunk(arguments.microbatches) for value in inputs)):
            with torch.autocast("cuda", torch.bfloat16):
                loss = loss_of(*parts) / arguments.microbatches
            loss.backward()
            total = total + loss.detach()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        losses.append(total.item())
        if step >= arguments.warmup:
            times.append(time.perf_counter() - began)
    print(json.dumps({"step_seconds": statistics.median(times), "losses": losses,
                      "peak_gib": torch.cuda.max_memory_allocated() / 2**30}))


if __name__ == "__main__":
    main()
