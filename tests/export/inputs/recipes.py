# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes of training against their reference in PyTorch, over 20 steps of a GPT-2 without dropout.

    recipes.py data                writes data/ and eval/, a .npy for each input
    recipes.py RECIPE MODEL PLAN.. compiles MODEL under each plan (a mesh, with other options behind spaces), trains it, and
                                   compares losses, parameters and averages with the reference in double precision

The model for `python -m dtcc_export` is recipes:gpt2, or recipes:grouped with the optimizer groups of the recipe "groups".
"""
import json
import math
import os
import subprocess
import sys

import numpy
import torch

STEPS, BATCH, LENGTH = 20, 8, 16


def gpt2():
    import transformers as hf
    torch.manual_seed(0)
    config = hf.GPT2Config(vocab_size=61, n_positions=LENGTH, n_embd=24, n_layer=2, n_head=4, use_cache=False, bos_token_id=0,
                           eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    ids = torch.randint(61, (BATCH, LENGTH))
    return hf.GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids.clone()}


def matching(module, *tests):
    """The parameters of each test, and those of none: the first test that holds has a parameter."""
    found = [[] for _ in range(len(tests) + 1)]
    for name, parameter in module.named_parameters():
        found[next((i for i, test in enumerate(tests) if test(name)), len(tests))].append(parameter)
    return found


def groups(module):
    tables, norms, rest = matching(module, lambda name: "wte" in name or "wpe" in name, lambda name: "ln_" in name)
    return torch.optim.AdamW([{"params": tables, "lr": 1e-3, "weight_decay": 0.0}, {"params": norms, "weight_decay": 0.3},
                              {"params": rest}], lr=1e-2, eps=1e-5, weight_decay=0.1)


def sgd_groups(module):
    tables, rest = matching(module, lambda name: "wte" in name or "wpe" in name)
    return torch.optim.SGD([{"params": tables, "lr": 0.02, "weight_decay": 0.0}, {"params": rest}], lr=0.2, momentum=0.9,
                           weight_decay=0.01)


def grouped():
    module, inputs = gpt2()
    return module, inputs, {"optimizer": groups(module)}


class Several:
    """Several optimizers that step together."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def zero_grad(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()


def muon(module, **settings):
    tables, matrices, rest = matching(module, lambda name: "wte" in name or "wpe" in name,
                                      lambda name: module.get_parameter(name).ndim == 2)
    return Several(torch.optim.Muon(matrices, lr=2e-2, momentum=0.9, weight_decay=0.1, **settings),
                   torch.optim.AdamW(tables + rest, lr=3e-3, betas=(0.9, 0.95), eps=1e-5, weight_decay=0.05))


class Lamb(torch.optim.Optimizer):
    """timm 1.0's Lamb without its clipping, which has the formula of apex's FusedLAMB: algorithm 2 of You et al. 2020."""

    def __init__(self, parameters, lr, weight_decay, always_adapt=False, betas=(0.9, 0.999), eps=1e-6):
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})
        self.always_adapt, self.betas, self.eps, self.count = always_adapt, betas, eps, 0

    @torch.no_grad()
    def step(self):
        self.count += 1
        beta1, beta2 = self.betas
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                m, v = state.setdefault("m", torch.zeros_like(p)), state.setdefault("v", torch.zeros_like(p))
                m.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                root = (v / (1 - beta2 ** self.count)).sqrt() + self.eps
                update = m / (1 - beta1 ** self.count) / root + group["weight_decay"] * p
                if group["weight_decay"] != 0 or self.always_adapt:
                    norm, other = p.norm(), update.norm()
                    update = update * (norm / other if norm > 0 and other > 0 else 1.0)
                p.sub_(update, alpha=group["lr"])


def lamb(module):
    vectors, rest = matching(module, lambda name: module.get_parameter(name).ndim == 1)
    return Lamb([{"params": vectors, "weight_decay": 0.0}, {"params": rest, "weight_decay": 0.1}], lr=2e-2, weight_decay=0.1)


def lamb_always(module):
    # Keys' biases have no gradient but roundings, which a larger eps keeps small.
    return Lamb(module.parameters(), lr=2e-2, weight_decay=0.0, always_adapt=True, eps=1e-5)


def adafactor(module):
    # Keys' biases have no gradient but roundings, which a larger eps keeps small.
    return torch.optim.Adafactor(module.parameters(), lr=3e-2, eps=(1e-4, 1e-3), weight_decay=0.1)


def adafactor_clipped(module):
    tables, rest = matching(module, lambda name: "wte" in name or "wpe" in name)
    return torch.optim.Adafactor([{"params": tables, "lr": 1e-2, "weight_decay": 0.0}, {"params": rest}], lr=1e-1,
                                 beta2_decay=-0.5, eps=(1e-4, 1e-2), d=1.2, weight_decay=0.1)


def dynamic_map(signed):
    """The numbers of 8-bit codes by dynamic tree quantization: ever more equal parts of [0.1, 1] in each of seven decades."""
    numbers = [0.0, 1.0]
    for decade in range(7):
        bounds = torch.linspace(0.1, 1, 2 ** (decade if signed else decade + 1) + 1, dtype=torch.float64)
        middles = (bounds[:-1] + bounds[1:]) / 2 * 10.0 ** (decade - 6)
        numbers += middles.tolist() + ((-middles).tolist() if signed else [])
    assert len(numbers) == 256
    return torch.tensor(sorted(numbers)).float()


class AdamW8bit:
    """AdamW with block-wise 8-bit moments (Dettmers et al. 2022), as bitsandbytes has it. It keeps the values of the codes.
    `blocks` gives the number of the block for each cell of a parameter."""

    def __init__(self, module, blocks, lr, eps, weight_decay, least, betas=(0.9, 0.999)):
        self.parameters = dict(module.named_parameters())
        self.blocks, self.lr, self.eps, self.weight_decay, self.least, self.betas = blocks, lr, eps, weight_decay, least, betas
        self.moments = {name: [torch.zeros(p.shape), torch.zeros(p.shape)] for name, p in self.parameters.items()}
        self.maps, self.count = (dynamic_map(True), dynamic_map(False)), 0

    def zero_grad(self):
        for p in self.parameters.values():
            p.grad = None

    def quantized(self, values, blocks, numbers):
        scales = torch.zeros(int(blocks.max()) + 1).scatter_reduce_(0, blocks, values.abs().flatten(), "amax")[blocks]
        scaled = torch.where(scales > 0, values.flatten() / scales, 0)
        return (numbers[(scaled[:, None] - numbers).abs().argmin(1)] * scales).reshape(values.shape)

    @torch.no_grad()
    def step(self):
        self.count += 1
        beta1, beta2 = self.betas
        for name, p in self.parameters.items():
            g, (m, v) = p.grad.float(), self.moments[name]
            m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
            p.mul_(1 - self.lr * self.weight_decay)
            p.sub_(self.lr * (m / (1 - beta1 ** self.count)) / ((v / (1 - beta2 ** self.count)).sqrt() + self.eps))
            if p.numel() >= self.least:
                m, v = (self.quantized(each, self.blocks[name], numbers) for each, numbers in zip((m, v), self.maps))
            self.moments[name] = [m, v]


def blocks_of(path):
    """The block of 256 cells that each cell of a parameter is in, as the plan of a checkpoint cuts the parameter."""
    manifest, blocks = json.load(open(path)), {}
    for name, state in manifest["states"].items():
        if name.endswith(".exp_avg"):
            shard = cell = numpy.zeros([dim["size"] for dim in state["dims"]], dtype=numpy.int64)
            for dim, at in zip(state["dims"], numpy.indices(shard.shape)):
                parts = math.prod(manifest["mesh"][axis]["size"] for axis in dim["axes"])
                local = dim["padded"] // parts
                shard, cell = shard * parts + at // local, cell * local + at % local
            numbers = (shard * (cell.max() + 1) + cell // 256).flatten()
            blocks[name[:-len(".exp_avg")]] = torch.from_numpy(numpy.unique(numbers, return_inverse=True)[1])
    return blocks


def adamw8bit(module, blocks, least=1000):
    # A small eps would enlarge the roundings that choose between two codes as near.
    return AdamW8bit(module, blocks, lr=1e-2, eps=1e-2, weight_decay=0.1, least=least)


def adamw(module):
    return torch.optim.AdamW(module.parameters(), lr=1e-2, eps=1e-5)


# Blocks of moments depend on the plan. Single cells differ where roundings choose between two codes as near, so parameters
# are compared by the mean of their differences.
BY_PLAN = {"adamw8bit"}

# For each recipe: the reference, dtcc's options, the weight of averages, and the largest relative differences of losses and
# of parameters. Muon computes in bf16 and amplifies roundings of its products, which PyTorch and dtcc sum in other orders.
MUON = "muon:lr=2e-2,momentum=0.9,weight_decay=0.1,adamw_lr=3e-3,adamw_beta2=0.95,adamw_eps=1e-5,adamw_weight_decay=0.05"
RECIPES = {
    "groups": (groups, ["--optimizer=adamw:lr=1e-2,eps=1e-5,weight_decay=0.1", "--group=*wte*:lr=0.1x,weight_decay=0",
                        "--group=*wpe*:lr=1e-3,weight_decay=0", "--group=*ln_*:weight_decay=0.3"], 0, 1e-6, 2e-5),
    "exported-groups": (groups, ["--optimizer=adamw:lr=1e-2,eps=1e-5,weight_decay=0.1"], 0, 1e-6, 2e-5),
    "sgd-groups": (sgd_groups, ["--optimizer=sgd:lr=0.2,momentum=0.9,weight_decay=0.01",
                                "--group=*w[tp]e*:lr=0.1x,weight_decay=0"], 0, 1e-6, 2e-5),
    "ema": (adamw, ["--optimizer=adamw:lr=1e-2,eps=1e-5", "--ema=0.9"], 0.9, 1e-6, 2e-5),
    "muon": (muon, [f"--optimizer={MUON}", "--group=*w[tp]e*:muon=0"], 0, 1e-3, 1e-1),
    "muon-rms": (lambda module: muon(module, adjust_lr_fn="match_rms_adamw", nesterov=False),
                 [f"--optimizer={MUON},match_rms=1,nesterov=0", "--group=*w[tp]e*:muon=0"], 0, 1e-3, 1e-1),
    # A bias whose gradient is almost zero moves by what rounding leaves of it: one cell is 2.3e-5 off under tp=2, all others 6e-6,
    # and of lamb-always 3.1e-5.
    "lamb": (lamb, ["--optimizer=lamb:lr=2e-2,weight_decay=0.1", "--no-decay=*bias", "--no-decay=*ln_*"], 0, 1e-6, 4e-5),
    "adafactor": (adafactor, ["--optimizer=adafactor:lr=3e-2,eps1=1e-4,weight_decay=0.1"], 0, 1e-6, 2e-5),
    "adafactor-clipped": (adafactor_clipped, ["--optimizer=adafactor:lr=1e-1,beta2_decay=-0.5,eps1=1e-4,eps2=1e-2,d=1.2,"
                                              "weight_decay=0.1", "--group=*w[tp]e*:lr=0.1x,weight_decay=0"], 0, 1e-6, 2e-5),
    "adamw8bit": (adamw8bit, ["--optimizer=adamw8bit:lr=1e-2,eps=1e-2,weight_decay=0.1,min_8bit_size=1000"], 0, 3e-5, 1.5e-3),
    "lamb-always": (lamb_always, ["--optimizer=lamb:lr=2e-2,eps=1e-5,weight_decay=0,always_adapt=1"], 0, 1e-6, 4e-5),
}


def samples(seed, count):
    torch.manual_seed(seed)
    # A rule that can be learned: each token follows from the one before.
    ids = torch.randint(61, (count, LENGTH))
    for position in range(1, LENGTH):
        ids[:, position] = (3 * ids[:, position - 1] + torch.randint(3, (count,))) % 61
    return ids


def loss_of(module, ids):
    return module(input_ids=ids, labels=ids).loss


def reference(make, average):
    """Losses, parameters, averages of the parameters and the loss of the averages."""
    module = gpt2()[0].double().train()
    optimizer, ids = make(module), samples(1, STEPS * BATCH)
    averaged = torch.optim.swa_utils.AveragedModel(module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(average))
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(module, ids[step * BATCH:(step + 1) * BATCH])
        loss.backward()
        optimizer.step()
        averaged.update_parameters(module)
        losses.append(loss.item())
    with torch.no_grad():
        evaluated = loss_of(averaged.module.eval(), samples(2, BATCH)).item()
    return losses, dict(module.named_parameters()), dict(averaged.module.named_parameters()), evaluated


def worst(found, wanted):
    return max((found[name].double() - value).abs().max().item() / value.abs().max().item() for name, value in wanted.items())


def mean_worst(found, wanted):
    return max((found[name].double() - value).abs().mean().item() / value.abs().mean().item() for name, value in wanted.items())


def main():
    if sys.argv[1] == "data":
        for name, seed, count in (("data", 1, STEPS * BATCH), ("eval", 2, BATCH)):
            os.makedirs(name, exist_ok=True)
            for key in ("input_ids", "labels"):
                numpy.save(f"{name}/{key}.npy", samples(seed, count).numpy())
        return
    import safetensors.torch
    name, model, plans = sys.argv[1], sys.argv[2], sys.argv[3:]
    make, options, average, most_loss, most_parameter = RECIPES[name]
    if name not in BY_PLAN:
        losses, parameters, averages, evaluated = reference(make, average)
    for plan in plans:
        mesh, *more = plan.split()
        subprocess.run(["dtcc", model, f"--bind=batch={BATCH},seq={LENGTH}", f"--mesh={mesh}", *more, *options, "-o", "program"],
                       check=True)
        saved = ["--save-average=average.safetensors", "--eval-average", "--eval-data=eval"] if average else []
        # The checkpoint in the middle holds the averages too.
        subprocess.run(["rm", "-rf", "checkpoints"], check=True)
        run = ["./program", "--data=data", "--checkpoint=checkpoints", "--save=parameters.safetensors", *saved]
        subprocess.run([*run, f"--steps={STEPS // 2}", "--metrics=first"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*run, f"--steps={STEPS}", "--resume", "--metrics=second"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        rows = [json.loads(line) for file in ("first", "second") for line in open(file)]
        found = [row["loss"] for row in rows if "loss" in row and "step" in row]
        assert len(found) == STEPS, rows
        if name in BY_PLAN:
            blocks = blocks_of(f"checkpoints/step-{STEPS}/manifest.json")
            losses, parameters, _, _ = reference(lambda module: make(module, blocks), average)
            # The test would see nothing if codes changed nothing.
            plain_losses, plain, _, _ = reference(lambda module: make(module, blocks, least=math.inf), average)
            assert max(abs(a - b) / b for a, b in zip(plain_losses, losses)) > 3 * most_loss
            assert mean_worst(plain, parameters) > 3 * most_parameter
        loss = max(abs(a - b) / b for a, b in zip(found, losses))
        measure = mean_worst if name in BY_PLAN else worst
        parameter = measure(safetensors.torch.load_file("parameters.safetensors"), parameters)
        text = f"{name} {plan}: losses {loss:.1e}, parameters {parameter:.1e}"
        assert loss <= most_loss and parameter <= most_parameter, text
        if average:
            mean = worst(safetensors.torch.load_file("average.safetensors"), averages)
            last = [row["eval_loss"] for row in rows if "eval_loss" in row][-1]
            text += f", averages {mean:.1e}, their loss {abs(last - evaluated) / evaluated:.1e}"
            assert mean <= most_parameter and abs(last - evaluated) <= 1e-6 * evaluated, text
            # The test would see nothing if averages were the parameters.
            assert worst(averages, parameters) > 100 * most_parameter
        print(text)


if __name__ == "__main__":
    main()
