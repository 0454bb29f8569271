# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with adapters, trained by dtcc and by PyTorch.

    adapters.py KIND PAGE PLAN..    exports lora.onnx by the lines of Python under "Adapters" of PAGE, trains it under each plan, and
                                    compares losses with PyTorch's in double precision, and what is saved with what loads it
"""
import contextlib
import copy
import json
import os
import subprocess
import sys

import numpy
import torch
import transformers

from use import blocks

STEPS, BATCH, LENGTH, RATE, EPS = 8, 4, 16, 1e-2, 1e-5


def llama():
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=61, hidden_size=24, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=LENGTH, use_cache=False, initializer_range=0.4, bos_token_id=0, eos_token_id=0))


def gpt2():
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=61, n_positions=LENGTH, n_embd=24, n_layer=2, n_head=4, use_cache=False, initializer_range=0.4, bos_token_id=0,
        eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, tie_word_embeddings=False))


def samples(count=BATCH):
    return torch.randint(61, (count, LENGTH), generator=torch.Generator().manual_seed(1))


def plain():
    return llama(), {"input_ids": samples(), "labels": samples()}


class Factors(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.a = base, torch.nn.Parameter(torch.zeros(8, 24))
        self.b = torch.nn.Parameter(torch.zeros(24, 8))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


def factors(adapters):
    model = llama()
    for layer in model.model.layers:
        layer.self_attn.q_proj = Factors(layer.self_attn.q_proj)
    return model, {"input_ids": samples(), "labels": samples()}, {"adapters": adapters}


def unknown():
    return factors({"*.q_projection": ("base", "b", "a", 1.0)})


def swapped():
    return factors({"*.q_proj": ("base", "a", "b", 1.0)})


def export(kind, page):
    """The base and the adapted module, of which lora.onnx was written."""
    import dtcc_export
    base = gpt2() if kind == "peft-gpt2" else llama()
    names = {"torch": torch, "dtcc_export": dtcc_export, "model": copy.deepcopy(base), "ids": samples()}
    if kind == "own":
        exec(blocks(page, "Adapters")[0], names)
        return base, names["model"]
    import peft
    names["peft"] = peft
    if kind == "peft":
        exec(blocks(page, "Adapters")[1], names)
        return base, names["model"]
    settings = {"target_modules": ["c_attn"], "fan_in_fan_out": True, "modules_to_save": ["lm_head"]} \
        if kind == "peft-gpt2" else {"target_modules": ["q_proj"], "use_dora": True}
    model = peft.get_peft_model(names["model"], peft.LoraConfig(r=4, lora_alpha=6, task_type="CAUSAL_LM", **settings))
    dtcc_export.export(model, {"input_ids": samples(), "labels": samples()}, "lora.onnx")
    return base, model


def reference(model, ids):
    """Losses, and the module as it is trained."""
    model = copy.deepcopy(model).double().train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=RATE, eps=EPS)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        rows = ids[step * BATCH:(step + 1) * BATCH]
        loss = model(input_ids=rows, labels=rows).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.eval()


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_close(found, wanted, ids):
    with torch.no_grad():
        found, wanted = found.double().eval()(input_ids=ids).logits, wanted(input_ids=ids).logits
    assert (found - wanted).abs().max() <= 2e-4 * wanted.abs().max(), (found - wanted).abs().max()


def main():
    import safetensors.torch
    kind, page, *plans = sys.argv[1:]
    ids = samples(STEPS * BATCH)
    os.makedirs("data", exist_ok=True)
    for name in ("input_ids", "labels"):
        numpy.save(f"data/{name}.npy", ids.numpy())
    with contextlib.redirect_stderr(sys.stdout):
        base, model = export(kind, page)
    losses, trained = reference(model, ids)
    with torch.no_grad():
        moved = (trained(input_ids=ids).logits - base.double()(input_ids=ids).logits).abs().max()
    assert moved > 0.05, moved  # else nothing below would tell adapters from none
    sizes = {n: p.numel() for n, p in model.named_parameters()}
    small = {n: p.numel() for n, p in model.named_parameters() if p.requires_grad}
    merges = kind != "peft-dora"
    for plan in plans:
        run("dtcc", "lora.onnx", f"--bind=batch={BATCH},seq={LENGTH}", f"--mesh={plan.split()[0]}", *plan.split()[1:],
            f"--optimizer=adamw:lr={RATE},eps={EPS}", "-o", "program")
        run("rm", "-rf", "checkpoint", "adapter", "merged")
        start = ["./program", "--data=data", f"--steps={STEPS}", "--checkpoint=checkpoint"]
        run(*start, "--metrics=metrics", "--save=alone.safetensors", "--save-trained")
        found = [row["loss"] for row in map(json.loads, open("metrics")) if "loss" in row]
        loss = max(abs(a - b) / b for a, b in zip(found, losses, strict=True))
        assert loss <= 1e-6, (plan, loss)
        # Two moments of what trains, and none of the rest.
        held = sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk("checkpoint") for file in files
                   if file.endswith(".safetensors"))
        least = 4 * (sum(sizes.values()) + 2 * sum(small.values()))
        assert least <= held <= least + 40000 < 3 * 4 * sum(sizes.values()), (held, least)
        alone = safetensors.torch.load_file("alone.safetensors")
        assert set(alone) == set(small), set(alone) ^ set(small)
        other = copy.deepcopy(model)
        other.load_state_dict(alone, strict=False)
        check_close(other, trained, ids)
        if merges:
            run(*start, "--resume", "--save=merged.safetensors", "--save-merged")
            bare = copy.deepcopy(base).float()
            bare.load_state_dict(safetensors.torch.load_file("merged.safetensors"))
            check_close(bare, trained, ids)
        if kind != "own":
            import peft
            run(*start, "--resume", "--save=adapter/", "--save-trained")
            names = {"peft": peft, "transformers": transformers, "base": copy.deepcopy(base).float()}
            lines = blocks(page, "Adapters")[2].splitlines()
            if merges:
                run(*start, "--resume", "--save=merged/", "--save-merged")
            for line in lines if merges else lines[:1]:
                exec(line, names)
            for name in ("adapted", "whole") if merges else ("adapted",):
                check_close(names[name], trained, ids)
        print(f"{kind} {plan}: losses {loss:.1e}, saved alone{' and merged' if merges else ''}")


if __name__ == "__main__":
    main()
