# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small parts that are trained beside, before or inside a frozen model."""
import torch
import torch.nn.functional as F
from torch import nn

from .attention import Encoder
from .preferences import tiny
from .registry import WORDS, add


class Lora(nn.Module):
    """A frozen linear layer plus a trained product of low rank."""

    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.b = nn.Parameter(torch.randn(base.out_features, rank) * 0.1)

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.a), self.b) * 2.0


class Dora(Lora):
    """LoRA whose sum is scaled to a trained length of each row."""

    def __init__(self, base, rank=4):
        super().__init__(base, rank)
        self.length = nn.Parameter(base.weight.detach().norm(dim=1) * 1.1)

    def forward(self, x):
        weight = self.base.weight + self.b @ self.a * 2.0
        return F.linear(x, weight * (self.length / weight.norm(dim=1))[:, None])


class Vera(nn.Module):
    """Frozen random factors with trained scales."""

    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1, requires_grad=False)
        self.b = nn.Parameter(torch.randn(base.out_features, rank) * 0.1, requires_grad=False)
        self.inner, self.outer = nn.Parameter(torch.full((rank,), 0.1)), nn.Parameter(torch.ones(base.out_features) * 0.1)

    def forward(self, x):
        return self.base(x) + self.outer * F.linear(self.inner * F.linear(x, self.a), self.b)


class Scaled(nn.Module):
    """IA3: a trained scale of what a frozen layer gives."""

    def __init__(self, base):
        super().__init__()
        self.base, self.scale = base, nn.Parameter(torch.ones(base.out_features))

    def forward(self, x):
        return self.base(x) * self.scale


class Bottleneck(nn.Module):
    """A small network behind a frozen layer."""

    def __init__(self, base):
        super().__init__()
        self.base, self.down, self.up = base, nn.Linear(base.out_features, 8), nn.Linear(8, base.out_features)

    def forward(self, x):
        y = self.base(x)
        return y + self.up(F.gelu(self.down(y)))


class Quantised(Lora):
    """QLoRA's base: four-bit numbers in blocks, each with a scale, none of them trained."""

    def __init__(self, base, rank=4):
        super().__init__(base, rank)
        blocks = base.weight.detach().reshape(-1, 16)
        scale = blocks.abs().amax(1, keepdim=True) / 7
        self.register_buffer("cells", (blocks / scale).round())
        self.register_buffer("scale", scale)

    def forward(self, x):
        weight = (self.cells * self.scale).view_as(self.base.weight)
        return F.linear(x, weight) + F.linear(F.linear(x, self.a), self.b) * 2.0


def adapted(layer, names=("q_proj", "v_proj")):
    def make():
        model = tiny().requires_grad_(False)
        for module in list(model.modules()):
            for name in names:
                if isinstance(getattr(module, name, None), nn.Linear):
                    setattr(module, name, layer(getattr(module, name)))
        return model
    return make


class Prompt(nn.Module):
    """Trained vectors before the words of a frozen model."""

    def __init__(self):
        super().__init__()
        self.model, self.prompt = tiny().requires_grad_(False), nn.Parameter(torch.randn(1, 4, 32) * 0.1)

    def forward(self, input_ids, labels):
        words = self.model.model.embed_tokens(input_ids)
        whole = torch.cat([self.prompt.expand(words.shape[0], -1, -1), words], 1)
        logits = self.model(inputs_embeds=whole).logits[:, 4:-1]
        return F.cross_entropy(logits.reshape(-1, WORDS), labels[:, 1:].reshape(-1))


class Prefix(nn.Module):
    """Trained keys and values before those of a frozen attention layer."""

    def __init__(self):
        super().__init__()
        self.words, self.mix, self.out = nn.Embedding(WORDS, 32), nn.Linear(32, 96), nn.Linear(32, 32)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, WORDS)
        self.requires_grad_(False)
        self.keys, self.values = (nn.Parameter(torch.randn(1, 4, 3, 8) * 0.3) for _ in range(2))

    def forward(self, input_ids, labels):
        x = self.words(input_ids)
        batch, length, _ = x.shape
        q, k, v = self.mix(self.norm(x)).view(batch, length, 3, 4, 8).permute(2, 0, 3, 1, 4)
        k, v = (torch.cat([p.expand(batch, -1, -1, -1), t], 2) for p, t in ((self.keys, k), (self.values, v)))
        seen = torch.ones(length, length + 3, dtype=torch.bool).tril(3)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2).reshape(batch, length, 32)
        return F.cross_entropy(self.head(x + self.out(y)).flatten(0, 1), labels.flatten())


def biases_alone():
    """BitFit: of an encoder only the biases are trained."""
    model = Encoder()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.endswith("bias"))
    return model


for name, make in {
    "lora": adapted(Lora), "lora_all": adapted(Lora, ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")),
    "dora": adapted(Dora), "vera": adapted(Vera), "ia3": adapted(Scaled, ("k_proj", "v_proj", "up_proj")),
    "bottleneck_adapter": adapted(Bottleneck, ("o_proj", "down_proj")), "qlora": adapted(Quantised),
    "prompt_tuning": Prompt, "prefix_tuning": Prefix,
}.items():
    add(__name__, "causal", name, make)
add(__name__, "tokens", "bitfit", biases_alone)
