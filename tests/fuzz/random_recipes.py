# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random recipes of training: what they say to dtcc, and what they mean in PyTorch.

A recipe has a small model, an optimizer with its settings, a schedule of the rate, groups of parameters, frozen parameters,
clipping, averages, a precision, a first plan and a second one that resumes behind a step. `draw` makes the recipe of a seed, and
`train` trains it in PyTorch. A seed always gives the same recipe.
"""
import copy
import dataclasses
import fnmatch
import math
import random
import re

import numpy
import torch
from torch import nn
from torch.nn import functional

LENGTH, TOKENS, CLASSES = 8, 29, 5


class Mlp(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(6, 16), nn.LayerNorm(16), nn.Linear(16, 12)
        self.drop, self.head = nn.Dropout(dropout), nn.Linear(12, CLASSES)

    def forward(self, x, labels):
        x = self.drop(torch.tanh(self.second(functional.gelu(self.norm(self.first(x))))))
        return functional.cross_entropy(self.head(x), labels)


class Layer(nn.Module):
    """Keys have no bias: its gradient would be zero but for roundings, which Adam enlarges."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout(dropout)
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.out, self.up, self.down = nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.ln_1(x)
        q, k, v = (each(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.query, self.key, self.value))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.drop(self.out(y))
        return x + self.drop(self.down(functional.gelu(self.up(self.ln_2(x)))))


class Gpt(nn.Module):
    def __init__(self, dropout=0.0, tied=True, width=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(TOKENS, width), nn.Embedding(LENGTH, width)
        self.layers = nn.ModuleList(Layer(width, 4, dropout) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, TOKENS, bias=False)
        nn.init.normal_(self.wte.weight, std=0.3)
        nn.init.normal_(self.wpe.weight, std=0.3)
        if tied:
            self.head.weight = self.wte.weight

    def forward(self, ids, labels):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.conv2, self.bn2 = nn.Conv2d(6, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x, labels):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.tanh(self.bn2(self.conv2(x))).mean((2, 3))
        return functional.cross_entropy(self.head(x), labels)


class Experts(nn.Module):
    """Mixtral of two layers and four experts."""

    def __init__(self):
        super().__init__()
        import transformers
        config = transformers.MixtralConfig(
            vocab_size=TOKENS, hidden_size=16, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=LENGTH,
            use_cache=False, initializer_range=0.2, attention_dropout=0.0)
        config._experts_implementation = "batched_mm"  # The other ways know no double precision.
        self.inner = transformers.MixtralForCausalLM(config)

    def forward(self, ids, labels):
        return functional.cross_entropy(self.inner(input_ids=ids).logits.flatten(0, 1), labels.flatten())


def vectors(draw, count, *shape):
    return {"x": draw.standard_normal([count, *shape]).astype(numpy.float32), "labels": draw.integers(0, CLASSES, count)}


def tokens(draw, count):
    """Some labels do not count, and samples have different numbers of those that do."""
    ids = draw.integers(0, TOKENS, [count, LENGTH])
    labels = (3 * ids + draw.integers(0, 2, ids.shape)) % TOKENS
    labels[draw.random(labels.shape) < 0.4 * draw.random([count, 1])] = -100
    return {"ids": ids, "labels": labels}


@dataclasses.dataclass
class Model:
    make: object
    data: object
    bind: str = ""
    tokens: bool = False
    normalizes_batch: bool = False
    drops: bool = False  # PyTorch draws other numbers.
    plans: tuple = ()


SPLITS = ["dp=2", "dp=4", "dp=2 --zero=1", "dp=2 --zero=2", "dp=2 --zero=3", "dp=4 --zero=3", "tp=2", "tp=4", "dp=2,tp=2",
          "dp=2,tp=2 --zero=1", "dp=2,tp=2 --zero=3", "dp=2x2 --zero=3", "dp=1 --recompute=full", "tp=3"]
SLOTS = ["dp=1 --microbatches=2", "dp=1 --microbatches=4", "dp=2 --zero=1 --microbatches=2", "dp=2 --zero=2 --microbatches=2",
         "dp=2 --zero=3 --microbatches=2 --recompute=selective", "tp=2 --microbatches=2"]
STAGES = ["pp=2 --microbatches=2 --schedule=1f1b", "pp=2 --microbatches=4 --schedule=zero-bubble",
          "pp=2 --microbatches=4 --schedule=gpipe", "pp=2,dp=2 --zero=1 --microbatches=2", "pp=2,tp=2 --microbatches=2"]
POSITIONS = ["cp=2", "cp=2 --cp-attention=ring", "cp=2 --cp-attention=alltoall", "dp=2,cp=2 --zero=2", "cp=4",
             "tp=2 --sequence-parallel=on"]
EXPERTS = ["ep=2", "ep=4", "ep=2 --moe-dispatch=alltoall", "dp=2,ep=2 --zero=1", "ep=2 --microbatches=2"]
MODELS = {
    "mlp": Model(Mlp, lambda draw, count: vectors(draw, count, 6), plans=SPLITS + SLOTS),
    "mlp-dropout": Model(lambda: Mlp(0.2), lambda draw, count: vectors(draw, count, 6), drops=True, plans=SPLITS),
    "gpt": Model(Gpt, tokens, f",seq={LENGTH}", tokens=True, plans=SPLITS + SLOTS + STAGES + POSITIONS),
    "gpt-untied": Model(lambda: Gpt(tied=False, width=20), tokens, f",seq={LENGTH}", tokens=True,
                        plans=SPLITS + SLOTS + STAGES + POSITIONS),
    "gpt-dropout": Model(lambda: Gpt(0.2), tokens, f",seq={LENGTH}", tokens=True, drops=True,
                         plans=SPLITS + ["pp=2 --microbatches=2", "tp=2 --sequence-parallel=on"]),
    "conv": Model(Conv, lambda draw, count: vectors(draw, count, 2, 7, 7), normalizes_batch=True, plans=SPLITS[:-1]),
    "experts": Model(Experts, tokens, f",seq={LENGTH}", tokens=True, plans=SPLITS + SLOTS + EXPERTS),
}


def module_of(name):
    torch.manual_seed(0)
    return MODELS[name].make()


# The settings of each optimizer: its key, and what is drawn for it, at times.
ADAM = {"beta1": [0.9, 0.8, 0.0], "beta2": [0.999, 0.95, 0.9], "eps": [1e-8, 1e-5, 1e-3], "weight_decay": [0, 0.1, 1.0]}
OPTIMIZERS = {
    "adamw": ADAM,
    "adam": ADAM,
    "sgd": {"momentum": [0, 0.9, 0.5], "dampening": [0, 0.3], "nesterov": [0, 1], "weight_decay": [0, 0.1]},
    "adagrad": {"lr_decay": [0, 0.1], "eps": [1e-10, 1e-4], "weight_decay": [0, 0.1]},
    "lion": {"beta1": [0.9, 0.8], "beta2": [0.99, 0.9], "weight_decay": [0, 0.1]},
    "muon": {"momentum": [0.95, 0.8], "nesterov": [0, 1], "weight_decay": [0, 0.1, 0.5], "ns_steps": [5, 3], "match_rms": [0, 1],
             "adamw_lr": [1e-3, 2e-2], "adamw_beta1": [0.9, 0.7], "adamw_beta2": [0.999, 0.9], "adamw_eps": [1e-8, 1e-4],
             "adamw_weight_decay": [1e-2, 0.3]},
    "lamb": {"beta1": [0.9, 0.8], "beta2": [0.999, 0.95], "eps": [1e-6, 1e-3], "weight_decay": [0, 0.1], "always_adapt": [0, 1],
             "trust_clip": [0, 1]},
    "adafactor": {"beta2_decay": [-0.8, -0.5], "eps1": [1e-7, 1e-4], "eps2": [1e-3, 1e-1], "d": [1, 1.5],
                  "weight_decay": [0, 0.1]},
    "adamw8bit": {**ADAM, "min_8bit_size": [0, 200, 4096]},
}
RATES = {"sgd": [0.1, 0.3], "lion": [1e-3, 5e-3], "adagrad": [1e-2, 5e-2], "lamb": [1e-2, 3e-2], "muon": [1e-2, 3e-2],
         "adafactor": [1e-2, 5e-2]}
# Values of settings that are not given, as docs/options.md has them.
DEFAULTS = {"adamw": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 1e-2},
            "sgd": {"lr": 1e-3, "momentum": 0, "dampening": 0, "nesterov": 0, "weight_decay": 0},
            "adagrad": {"lr": 1e-2, "lr_decay": 0, "eps": 1e-10, "weight_decay": 0},
            "lion": {"lr": 1e-4, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0},
            "muon": {"lr": 1e-3, "momentum": 0.95, "nesterov": 1, "weight_decay": 0.1, "ns_steps": 5, "eps": 1e-7,
                     "match_rms": 0, "adamw_beta1": 0.9, "adamw_beta2": 0.999, "adamw_eps": 1e-8, "adamw_weight_decay": 1e-2},
            "lamb": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-6, "weight_decay": 1e-2, "always_adapt": 0,
                     "trust_clip": 0},
            "adafactor": {"lr": 1e-2, "beta2_decay": -0.8, "eps1": 2.0 ** -23, "eps2": 1e-3, "d": 1, "weight_decay": 0}}
DEFAULTS["adam"] = {**DEFAULTS["adamw"], "weight_decay": 0}
DEFAULTS["adamw8bit"] = {**DEFAULTS["adamw"], "min_8bit_size": 4096}


@dataclasses.dataclass
class Recipe:
    seed: int
    model: str
    batch: int
    steps: int
    samples: int
    kind: str
    given: dict  # settings of the optimizer that are written out
    rate: dict  # options of the program for the rate
    groups: list  # (glob, settings)
    decay: list
    no_decay: list
    freeze: list
    trainable: list
    clip: float
    ema: float
    precision: str
    options: list  # further options of dtcc, under both plans
    plans: list  # the first one, and the one that resumes
    resumed: int  # behind this step
    run: list  # further options of the program
    evaluates: int  # steps between evaluations; 0: none
    shuffles: bool
    exports: bool  # the groups lie in the model's file

    @property
    def settings(self):
        settings = {**DEFAULTS[self.kind], **self.given}
        if self.kind == "muon":
            settings.setdefault("adamw_lr", settings["lr"])
        return settings

    @property
    def base(self):
        return self.rate.get("lr", self.settings["lr"])

    def compile_words(self, plan):
        mesh, *more = plan.split()
        given = dict(self.given)
        if self.exports:  # A file does not hold the decay that all its groups have.
            decays = {self.group_of(name, p.shape)[2] for name, p in module_of(self.model).named_parameters()} - {0}
            given |= {"weight_decay": decays.pop()} if len(decays) == 1 else {}
        optimizer = f"{self.kind}:" + ",".join(f"{key}={value!r}" for key, value in given.items())
        words = [f"--bind=batch={self.batch}{MODELS[self.model].bind}", f"--mesh={mesh}", *more, f"--optimizer={optimizer}"]
        if not self.exports:
            words += [f"--group={glob}:" + ",".join(f"{key}={value}" for key, value in settings.items())
                      for glob, settings in self.groups]
        for option, globs in (("decay", self.decay), ("no-decay", self.no_decay), ("freeze", self.freeze),
                              ("trainable", self.trainable)):
            words += [f"--{option}={glob}" for glob in globs]
        words += [f"--clip={self.clip}"] * bool(self.clip) + [f"--ema={self.ema}"] * bool(self.ema)
        return words + [f"--precision={self.precision}"] * (self.precision != "f32") + self.options

    def run_words(self):
        words = ["--data=data", f"--steps={self.steps}", *(f"--{key}={value}" for key, value in self.rate.items()), *self.run]
        words += ["--shuffle=3"] * self.shuffles
        if self.evaluates:
            words += ["--eval-data=eval", f"--eval-every={self.evaluates}"]
        return words + (["--save-average=average.safetensors"] if self.ema else [])

    def rate_at(self, step):
        """The rate of a step, from 1, as docs/recipes.md has it."""
        restart, total = self.rate.get("lr-restart", 0), self.steps
        if restart and step > restart:
            step, total = step - restart, total - restart
        elif restart:
            total = restart
        base, least, warmup = self.base, self.rate.get("min-lr", 0), self.rate.get("warmup", 0)
        if step <= warmup:
            return base * step / warmup
        kind, behind = self.rate.get("lr-schedule", "constant"), step - 1 - warmup
        if kind == "constant":
            return base
        if kind == "inverse-sqrt":
            return max(least, base * math.sqrt(max(warmup, 1) / step))
        falls = self.rate.get("decay-steps", max(1, total // 10) if kind == "wsd" else max(1, total - warmup))
        if kind == "wsd":
            falls = min(falls, max(1, total - warmup))
            behind = max(0, step - 1 - (total - falls))
        part = min(1.0, behind / falls)
        return least + (base - least) * (0.5 * (1 + math.cos(math.pi * part)) if kind == "cosine" else 1 - part)

    def trains(self, name):
        def named(globs):
            return any(fnmatch.fnmatchcase(name, glob) for glob in globs)
        return (not self.trainable or named(self.trainable)) and not named(self.freeze)

    def group_of(self, name, shape):
        """The optimizer of a parameter: its kind, the factor of its rate, and its decay."""
        settings = self.settings
        own = next((own for glob, own in self.groups if fnmatch.fnmatchcase(name, glob)), {})
        kind, prefix = self.kind, ""
        if kind == "muon" and (len(shape) != 2 or own.get("muon") == 0):
            kind, prefix = "adamw", "adamw_"
        if str(own.get("lr", "")).endswith("x"):
            factor = float(own["lr"][:-1]) * settings[prefix + "lr"] / settings["lr"]
        else:
            factor = own.get("lr", settings[prefix + "lr"]) / settings["lr"]
        decays = not self.decay or any(fnmatch.fnmatchcase(name, glob) for glob in self.decay)
        decays &= not any(fnmatch.fnmatchcase(name, glob) for glob in self.no_decay)
        decay = own.get("weight_decay", settings[prefix + "weight_decay"] if decays else 0)
        return kind, factor, decay

    def __str__(self):
        words = [f"{key}={value}" for key, value in dataclasses.asdict(self).items() if value and key not in ("seed", "plans")]
        return f"[{' | '.join(self.plans)}] {', '.join(words)}"


def parts_of(plan):
    """The parts in which a plan splits a batch."""
    return math.prod(int(size) for size in re.findall(r"(?:dp=|ep=|x|microbatches=)(\d+)", plan))


def draw(seed, models):
    """The recipe of a seed."""
    dice = random.Random(seed)
    name = dice.choice(models)
    model, names = MODELS[name], [each for each, _ in module_of(name).named_parameters()]

    def maybe(chance):
        return dice.random() < chance

    kind = dice.choice(list(OPTIMIZERS))
    given = {key: dice.choice(values) for key, values in OPTIMIZERS[kind].items() if maybe(0.5)}
    given["lr"] = dice.choice(RATES.get(kind, [1e-3, 1e-2]))
    if given.get("min_8bit_size", 4096) < 4096:
        given["eps"] = 1e-2  # Codes of 0 in the second moment, of rows that a batch lacks, divide by eps alone.
    if given.get("nesterov") and kind == "sgd":
        given |= {"momentum": 0.9, "dampening": 0}
    plans, steps = [dice.choice([*model.plans, "dp=1"]) for _ in range(2)], dice.randint(4, 8)
    fitting = [size for size in (4, 6, 8, 8, 12) if all(size % parts_of(plan) == 0 for plan in plans)]
    batch = dice.choice(fitting if maybe(0.97) else [6])
    rate = {}
    if maybe(0.4):
        rate["lr"] = given["lr"] * dice.choice([0.5, 2])
    if maybe(0.6):
        rate["lr-schedule"] = dice.choice(["linear", "cosine", "wsd", "inverse-sqrt", "constant"])
        if rate["lr-schedule"] != "constant" and maybe(0.5):
            rate["min-lr"] = rate.get("lr", given["lr"]) * 0.3
        if rate["lr-schedule"] in ("linear", "cosine", "wsd") and maybe(0.4):
            rate["decay-steps"] = dice.randint(1, steps)
    if maybe(0.5):
        rate["warmup"] = dice.randint(1, 3)
    if rate and maybe(0.2):
        rate["lr-restart"] = dice.randint(1, steps - 1)

    def glob():
        """A pattern that some parameter matches."""
        picked = dice.choice(names)
        parts = picked.split(".")
        return dice.choice([picked, "*" + parts[-1], parts[0] + "*", "*" + parts[-2] + ".*" if len(parts) > 1 else picked])

    freeze, trainable = [], []
    if maybe(0.25):
        (freeze if maybe(0.5) else trainable).append(glob())
    def trains(each):
        return not (trainable and not fnmatch.fnmatchcase(each, trainable[0])) and \
            not (freeze and fnmatch.fnmatchcase(each, freeze[0]))

    if not any(map(trains, names)):
        freeze = []
    groups, taken = [], set()
    for _ in range(dice.choice([0, 0, 1, 2, 3])):
        pattern, settings = glob(), {}
        if maybe(0.7):
            settings["lr"] = dice.choice(["0.1x", "0x", "2x", given["lr"] * 0.4, 1e-3])
        if maybe(0.6) or not settings:
            settings["weight_decay"] = dice.choice([0, 0.3])
        if kind == "muon" and maybe(0.5):
            settings["muon"] = dice.choice([0, 1])
        fresh = {each for each in names if fnmatch.fnmatchcase(each, pattern) and trains(each)} - taken
        if fresh:
            taken |= fresh
            groups.append((pattern, settings))
    precision, options, clip = dice.choice(["f32"] * 6 + ["bf16", "fp16"]), [], dice.choice([0, 0, 0.05, 0.5, 1.0])
    if precision != "fp16" and not clip and maybe(0.3):
        options.append("--update=early")
    if precision == "fp16" and maybe(0.5):
        options.append("--loss-scale=1024")
    shuffles, exports = maybe(0.15), kind in ("adamw", "sgd") and not freeze and not trainable and maybe(0.15)
    run = [f"--seed={dice.randint(1, 9)}"] if maybe(0.3) else []
    run += ["--overlap"] if maybe(0.1) else []
    return Recipe(seed, name, batch, steps, dice.choice([batch * 3 + 1, batch * steps, batch * 2]), kind, given, rate, groups,
                  [glob()] if maybe(0.15) and not exports else [], [glob()] if maybe(0.25) and not exports else [],
                  freeze, trainable, clip,
                  dice.choice([0, 0, 0.9, 0.5]), precision, options, plans, dice.randint(1, steps - 1), run,
                  dice.choice([0, 0, 1, 2, 3]), shuffles, exports)


class Own:
    """An optimizer of one parameter that PyTorch lacks."""

    def __init__(self, kind, settings, parameter, decay):
        self.kind, self.settings, self.parameter, self.decay, self.count = kind, settings, parameter, decay, 0
        self.m, self.v = torch.zeros_like(parameter), torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, rate):
        p, g, settings = self.parameter, self.parameter.grad, self.settings
        beta1, beta2, self.count = settings["beta1"], settings["beta2"], self.count + 1
        if self.kind == "lion":
            p.mul_(1 - rate * self.decay).sub_(rate * torch.sign(beta1 * self.m + (1 - beta1) * g))
            self.m.mul_(beta2).add_(g, alpha=1 - beta2)
            return
        self.m.mul_(beta1).add_(g, alpha=1 - beta1)
        self.v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        root = (self.v / (1 - beta2 ** self.count)).sqrt() + settings["eps"]
        update = self.m / (1 - beta1 ** self.count) / root + self.decay * p
        if self.decay != 0 or settings["always_adapt"]:
            norm, other = p.norm(), update.norm()
            ratio = norm / other if norm > 0 and other > 0 else torch.ones(())
            update = update * (ratio.clamp(max=1) if settings["trust_clip"] else ratio)
        p.sub_(update, alpha=rate)


def optimizer_of(kind, settings, parameter, decay):
    """What takes a step of one parameter at a rate."""
    if kind in ("lion", "lamb"):
        return Own(kind, settings, parameter, decay).step
    make = {
        "adamw": lambda: torch.optim.AdamW([parameter], betas=(settings["beta1"], settings["beta2"]), eps=settings["eps"],
                                           weight_decay=decay),
        "adam": lambda: torch.optim.Adam([parameter], betas=(settings["beta1"], settings["beta2"]), eps=settings["eps"],
                                         weight_decay=decay),
        "sgd": lambda: torch.optim.SGD([parameter], lr=1.0, momentum=settings["momentum"], dampening=settings["dampening"],
                                       nesterov=bool(settings["nesterov"]), weight_decay=decay),
        "adagrad": lambda: torch.optim.Adagrad([parameter], lr_decay=settings["lr_decay"], eps=settings["eps"],
                                               weight_decay=decay),
        "muon": lambda: torch.optim.Muon([parameter], momentum=settings["momentum"], nesterov=bool(settings["nesterov"]),
                                         weight_decay=decay, ns_steps=int(settings["ns_steps"]), eps=settings["eps"],
                                         adjust_lr_fn="match_rms_adamw" if settings["match_rms"] else None),
        "adafactor": lambda: torch.optim.Adafactor([parameter], beta2_decay=settings["beta2_decay"],
                                                   eps=(settings["eps1"], settings["eps2"]), d=settings["d"],
                                                   weight_decay=decay),
    }
    optimizer = make["adamw" if kind == "adamw8bit" else kind]()

    def step(rate):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    return step


def grouped(recipe, module):
    """An optimizer of PyTorch with the groups of a recipe, for the export."""
    groups = {}
    for name, parameter in module.named_parameters():
        _, factor, decay = recipe.group_of(name, parameter.shape)
        groups.setdefault((factor, decay), []).append(parameter)
    make = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[recipe.kind]
    lr = recipe.settings["lr"]
    return make([{"params": each, "lr": factor * lr, "weight_decay": decay} for (factor, decay), each in groups.items()], lr=lr)


@dataclasses.dataclass
class Trained:
    losses: list
    norms: list
    parameters: dict
    averages: dict
    evaluations: dict  # by step
    start: dict


def batch_of(data, recipe, step):
    """The samples of a step, from 0: each pass takes the full batches in their order."""
    first = step % (recipe.samples // recipe.batch) * recipe.batch
    return {key: cells[first:first + recipe.batch] for key, cells in data.items()}


def tensors(data, dtype):
    return {key: torch.from_numpy(cells).to(dtype) if cells.dtype == numpy.float32 else torch.from_numpy(cells)
            for key, cells in data.items()}


def train(recipe, data, held, dtype=torch.float64):
    """PyTorch's run of a recipe; None where it draws other random numbers."""
    if MODELS[recipe.model].drops or recipe.shuffles:
        return None
    module = module_of(recipe.model).to(dtype).train()
    data, held, updates = tensors(data, dtype), tensors(held, dtype), []
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(recipe.trains(name))
        if parameter.requires_grad:
            kind, factor, decay = recipe.group_of(name, parameter.shape)
            settings = recipe.settings
            if kind != recipe.kind:
                settings = {key[len("adamw_"):]: value for key, value in settings.items() if key.startswith("adamw_")}
            updates.append((optimizer_of(kind, settings, parameter, decay), factor))
    result = Trained([], [], {}, {}, {}, copy.deepcopy(module.state_dict()))
    averages = None
    for step in range(recipe.steps):
        module.zero_grad()
        loss = module(**batch_of(data, recipe, step))
        loss.backward()
        result.losses.append(loss.item())
        trained = [p for p in module.parameters() if p.requires_grad]
        norm = torch.nn.utils.clip_grad_norm_(trained, recipe.clip or math.inf)
        result.norms.append(norm.item())
        for update, factor in updates:
            update(recipe.rate_at(step + 1) * factor)
        state = {name: value.detach().clone() for name, value in module.named_parameters() if value.requires_grad}
        averages = state if averages is None else {name: recipe.ema * averages[name] + (1 - recipe.ema) * value
                                                   for name, value in state.items()}
        if recipe.evaluates and ((step + 1) % recipe.evaluates == 0 or step + 1 == recipe.steps):
            module.eval()
            with torch.no_grad():
                result.evaluations[step + 1] = module(**held).item()
            module.train()
    result.parameters, result.averages = copy.deepcopy(module.state_dict()), averages or {}
    return result
