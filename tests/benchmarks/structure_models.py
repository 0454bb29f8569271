# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Full-size models without memory for their parameters, exported for structures.py.

Parameters lie on PyTorch's meta device. Buffers (tables of angles, positions) have their values, which the file holds;
while the model is traced they are on the meta device too.
"""
import contextlib
import os
import sys
import time

import measure

sys.path.insert(0, os.path.join(measure.ROOT, "tools", "export"))
import dtcc_export  # noqa: E402
import onnx_ir as ir  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
import transformers as t  # noqa: E402
from dtcc_export import api  # noqa: E402


def causal(config, **sizes):
    return lambda: t.AutoModelForCausalLM.from_config(config(**sizes, use_cache=False), attn_implementation="eager")


def tokens(batch=2, seq=16):
    ids = torch.zeros(batch, seq, dtype=torch.long, device="meta")
    return {"input_ids": ids, "labels": ids.clone()}


def images(size=224):
    return {"pixel_values": torch.zeros(2, 3, size, size, device="meta"),
            "labels": torch.zeros(2, dtype=torch.long, device="meta")}


class Classifier(torch.nn.Module):
    """A network of torchvision with its loss."""

    def __init__(self, make):
        super().__init__()
        self.network = make()

    def forward(self, pixel_values, labels):
        return torch.nn.functional.cross_entropy(self.network(pixel_values), labels)


def vision(name):
    return lambda: Classifier(getattr(torchvision.models, name)), images


def gpt2(layers, width, heads):
    return causal(t.GPT2Config, n_layer=layers, n_embd=width, n_head=heads, loss_type="ForCausalLMLoss"), tokens


# Sizes as the models' configurations on Hugging Face have them.
MODELS = {
    "gpt2-medium": gpt2(24, 1024, 16),
    "gpt2-large": gpt2(36, 1280, 20),
    "mistral-7b": (causal(t.MistralConfig, sliding_window=None), tokens),
    "qwen2.5-7b": (causal(t.Qwen2Config, vocab_size=152064, hidden_size=3584, intermediate_size=18944,
                          num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4), tokens),
    "qwen3-8b": (causal(t.Qwen3Config, vocab_size=151936, hidden_size=4096, intermediate_size=12288,
                        num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128), tokens),
    "gemma-2-9b": (causal(t.Gemma2Config, vocab_size=256000, hidden_size=3584, intermediate_size=14336,
                          num_hidden_layers=42, num_attention_heads=16, num_key_value_heads=8, head_dim=256), tokens),
    "phi-3-mini": (causal(t.Phi3Config, pad_token_id=0), tokens),
    "falcon-7b": (causal(t.FalconConfig), tokens),
    "pythia-6.9b": (causal(t.GPTNeoXConfig, vocab_size=50432, hidden_size=4096, num_hidden_layers=32,
                           num_attention_heads=32, intermediate_size=16384), tokens),
    "opt-6.7b": (causal(t.OPTConfig, hidden_size=4096, num_hidden_layers=32, ffn_dim=16384, num_attention_heads=32,
                        word_embed_proj_dim=4096), tokens),
    "vit-huge": (lambda: t.ViTForImageClassification(t.ViTConfig(
        hidden_size=1280, num_hidden_layers=32, num_attention_heads=16, intermediate_size=5120, patch_size=14,
        num_labels=1000)), images),
    "t5-3b": (lambda: t.T5ForConditionalGeneration(t.T5Config(
        d_model=1024, d_kv=128, d_ff=16384, num_layers=24, num_heads=32, decoder_start_token_id=0,
        use_cache=False)), tokens),
    "resnet152": vision("resnet152"),
    "convnext-large": vision("convnext_large"),
    "efficientnet-v2-l": vision("efficientnet_v2_l"),
    "swin-b": vision("swin_b"),
}


@contextlib.contextmanager
def parameters_without_memory():
    register = torch.nn.Module.register_parameter

    def without(module, name, parameter):
        if parameter is not None and not parameter.is_meta:
            parameter = torch.nn.Parameter(parameter.to("meta"), requires_grad=parameter.requires_grad)
        register(module, name, parameter)

    torch.nn.Module.register_parameter = without
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register


@contextlib.contextmanager
def written_without_data(buffers):
    """Buffers get their values back before constants are folded; parameters lie in a file beside the model that nobody
    writes."""
    write, optimize = api.write, api.onnxscript.optimizer.optimize_ir

    def with_buffers(model):
        for name, value in model.graph.initializers.items():
            if value.const_value is not None and name.removeprefix(api.PREFIX) in buffers:
                value.const_value = ir.tensor(buffers[name.removeprefix(api.PREFIX)], name=name)
        optimize(model)

    def without(model, path, external_data):
        end = 0
        for name, value in model.graph.initializers.items():
            tensor = value.const_value
            if not getattr(getattr(tensor, "raw", None), "is_meta", False):
                continue
            if name.removeprefix(api.PREFIX) in buffers:
                value.const_value = ir.tensor(buffers[name.removeprefix(api.PREFIX)], name=name)
                continue
            value.const_value = ir.ExternalTensor(os.path.basename(path) + ".data", end, tensor.nbytes, tensor.dtype,
                                                  shape=tensor.shape, name=name)
            end += tensor.nbytes
        ir.save(model, path)

    api.write, api.onnxscript.optimizer.optimize_ir = without, with_buffers
    try:
        yield
    finally:
        api.write, api.onnxscript.optimizer.optimize_ir = write, optimize


def make(names, folder):
    os.makedirs(folder, exist_ok=True)
    failed = 0
    for name in names or MODELS:
        build, inputs = MODELS[name]
        began = time.monotonic()
        try:
            with parameters_without_memory():
                model = build().to(torch.float32)
            buffers = {n: b.clone() for n, b in model.named_buffers()}
            model.to("meta")
            with written_without_data(buffers):
                dtcc_export.export(model, inputs(), os.path.join(folder, name + ".onnx"))
        except Exception as error:  # noqa: BLE001 - one line says what a model fails with
            print(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:300]}", flush=True)
            failed += 1
            continue
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    return failed > 0
