# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks beside GPT-2, LLaMA, ResNet-50 and ViT-L that are compared with PyTorch on a GPU: one definition for what
pack exports (shape.py) and what peer.py trains.

A network is a module whose forward takes its inputs by name and returns the loss. `INPUTS` has what one sample of an input
is: its sizes, and for integers the number that they stay below. PyTorch, transformers and torchvision are imported only
where a network is built, so that pack can read this table without them.
"""
TOKENS = 32000


def tokens(positions, below=TOKENS):
    return {"sizes": [positions], "below": below}


def image(side):
    return {"sizes": [3, side, side]}


CLASS = {"sizes": [], "below": 1000}
INPUTS = {
    "bert-large": {"input_ids": tokens(512, 30522), "labels": tokens(512, 30522)},
    "t5-base": {"input_ids": tokens(512), "labels": tokens(128)},
    "mixtral": {"input_ids": tokens(1024), "labels": tokens(1024)},
    "lstm": {"input_ids": tokens(256), "labels": tokens(256)},
    "unet": {"x": image(64), "time": {"sizes": [], "below": 1000}, "noise": image(64)},
    "convnext-tiny": {"x": image(224), "labels": CLASS},
    "efficientnet-b0": {"x": image(224), "labels": CLASS},
    "swin-tiny": {"x": image(224), "labels": CLASS},
}
# Samples of a step, and micro-batches that they come in.
BATCHES = {"bert-large": (64, 2), "t5-base": (64, 1), "mixtral": (32, 4), "lstm": (128, 1), "unet": (64, 1),
           "convnext-tiny": (128, 1), "efficientnet-b0": (128, 1), "swin-tiny": (128, 1)}


def language(name):
    """Those of transformers, without dropout."""
    import transformers
    if name == "bert-large":
        return transformers.BertForMaskedLM(transformers.BertConfig(
            hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096,
            hidden_dropout_prob=0, attention_probs_dropout_prob=0, attn_implementation="sdpa"))
    if name == "t5-base":
        return transformers.T5ForConditionalGeneration(transformers.T5Config(
            vocab_size=TOKENS, d_model=768, d_ff=3072, num_layers=12, num_heads=12, dropout_rate=0,
            decoder_start_token_id=0, use_cache=False))
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=TOKENS, hidden_size=1024, intermediate_size=3584, num_hidden_layers=4, num_attention_heads=16,
        num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2, max_position_embeddings=2048, use_cache=False,
        attn_implementation="sdpa"))


def classifier(name):
    """Those of torchvision, without dropout and with every block kept."""
    import torchvision
    if name == "convnext-tiny":
        return torchvision.models.convnext_tiny(stochastic_depth_prob=0.0)
    if name == "efficientnet-b0":
        return torchvision.models.efficientnet_b0(stochastic_depth_prob=0.0, dropout=0.0)
    return torchvision.models.SwinTransformer(patch_size=[4, 4], embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24],
                                              window_size=[7, 7], stochastic_depth_prob=0.0)  # swin_t


def recurrent():
    """A language model of two layers of LSTM."""
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self, width=1024):
            super().__init__()
            self.tokens, self.cells = nn.Embedding(TOKENS, width), nn.LSTM(width, width, 2, batch_first=True)
            self.head = nn.Linear(width, TOKENS)

        def forward(self, input_ids):
            return self.head(self.cells(self.tokens(input_ids))[0])

    return Recurrent()


def denoiser():
    """A diffusion model's U-Net (Ho et al., 2020): residual blocks with group norms, told the time, and attention where the
    image is a quarter as wide."""
    import math

    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, before, after, time):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(32, before), nn.GroupNorm(32, after)
            self.first, self.second = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
            self.time = nn.Linear(time, after)
            self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

        def forward(self, x, time):
            y = self.first(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
            return self.skip(x) + self.second(F.silu(self.norm2(y)))

    class Attention(nn.Module):
        def __init__(self, width, heads=4):
            super().__init__()
            self.heads, self.norm = heads, nn.GroupNorm(32, width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            b, c, h, w = x.shape
            y = self.norm(x).flatten(2).transpose(1, 2)
            q, k, v = (part.view(b, h * w, self.heads, c // self.heads).transpose(1, 2) for part in self.qkv(y).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, h * w, c)
            return x + self.out(y).transpose(1, 2).reshape(b, c, h, w)

    class Denoiser(nn.Module):
        def __init__(self, width=128, multiples=(1, 2, 2)):
            super().__init__()
            self.width, time = width, 4 * width
            self.embed = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
            self.first = nn.Conv2d(3, width, 3, padding=1)
            widths, before = [width], width
            self.down, self.shrink = nn.ModuleList(), nn.ModuleList()
            for level, multiple in enumerate(multiples):
                for _ in range(2):
                    self.down.append(Block(before, width * multiple, time))
                    before = width * multiple
                    widths.append(before)
                if level + 1 < len(multiples):
                    self.shrink.append(nn.Conv2d(before, before, 3, stride=2, padding=1))
                    widths.append(before)
            self.middle1, self.attention, self.middle2 = Block(before, before, time), Attention(before), Block(before, before, time)
            self.up, self.enlarge = nn.ModuleList(), nn.ModuleList()
            for level, multiple in reversed(list(enumerate(multiples))):
                for _ in range(3):
                    self.up.append(Block(before + widths.pop(), width * multiple, time))
                    before = width * multiple
                if level:
                    self.enlarge.append(nn.Conv2d(before, before, 3, padding=1))
            self.norm, self.last = nn.GroupNorm(32, before), nn.Conv2d(before, 3, 3, padding=1)
            self.levels = len(multiples)

        def forward(self, x, time, noise):
            rates = torch.exp(torch.arange(self.width // 2, device=x.device) * (-math.log(10000) / (self.width // 2)))
            angles = time[:, None].float() * rates[None]
            time = F.silu(self.embed(torch.cat([angles.sin(), angles.cos()], 1)))
            x = self.first(x)
            kept = [x]
            for level in range(self.levels):
                for block in self.down[2 * level:2 * level + 2]:
                    x = block(x, time)
                    kept.append(x)
                if level + 1 < self.levels:
                    x = self.shrink[level](x)
                    kept.append(x)
            x = self.middle2(self.attention(self.middle1(x, time)), time)
            for level in range(self.levels):
                for block in self.up[3 * level:3 * level + 3]:
                    x = block(torch.cat([x, kept.pop()], 1), time)
                if level + 1 < self.levels:
                    x = self.enlarge[level](F.interpolate(x, scale_factor=2.0, mode="nearest"))
            return F.mse_loss(self.last(F.silu(self.norm(x))).float(), noise)

    return Denoiser()


def build(name):
    """The network with its loss, from PyTorch's random weights."""
    from torch import nn
    from torch.nn import functional as F

    if name == "unet":
        return denoiser()
    if name in ("bert-large", "t5-base", "mixtral"):
        network = language(name)

        class WithLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, input_ids, labels):
                return self.network(input_ids=input_ids, labels=labels).loss
    else:
        network = recurrent() if name == "lstm" else classifier(name)

        class WithLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, x, labels):
                logits = self.network(x)
                return F.cross_entropy(logits.flatten(0, -2).float(), labels.flatten())

        if name == "lstm":
            WithLoss.forward = lambda self, input_ids, labels: F.cross_entropy(
                self.network(input_ids).flatten(0, -2).float(), labels.flatten())
    return WithLoss()
