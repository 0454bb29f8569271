# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adapters of low rank: what a program needs to save them merged into the layers that they adapt, or alone as PEFT does.

The manifest's key "adapters", which docs/export.md describes. Layers of PEFT are found by their attributes; those of a
module of the user's own are named by export(adapters=..).
"""
import fnmatch
import json
import tempfile

import torch

from .losses import ExportError


class Layer:
    """One adapted layer: up @ down, times scale, is added to the weight of base."""

    def __init__(self, module, path, base, up, down, scale, turned=False):
        self.path, self.base = path, f"{path}.{base}"
        self.weight, self.up, self.down = (self.parameter(module, f"{path}.{name}") for name in (base, up, down))
        self.scale, self.turned = float(scale), bool(turned)
        shape = [list(module.get_parameter(name).shape) for name in (self.weight, self.up, self.down)]
        if any(len(each) != 2 for each in shape) or \
                [shape[1][0], shape[2][1]] != (shape[0][::-1] if turned else shape[0]) or shape[1][1] != shape[2][0]:
            raise ExportError(f"an adapter of '{path}' must have factors whose product has the shape of '{self.weight}', got: "
                              f"{shape[1]} and {shape[2]} for {shape[0]}")

    @staticmethod
    def parameter(module, name):
        """The parameter `name`, or the weight of the layer `name`."""
        owner, _, last = name.rpartition(".")
        found = getattr(module.get_submodule(owner), last, None)
        if not isinstance(found, (torch.nn.Parameter, torch.nn.Module)):
            raise ExportError(f"adapters name '{name}', which the module does not have")
        return name if isinstance(found, torch.nn.Parameter) else f"{name}.weight"

    def sum(self):
        return {"weight": self.weight, "up": self.up, "down": self.down, "scale": self.scale} | \
            ({"turned": True} if self.turned else {})


def own_layers(module, adapters):
    """Layers of a module of the user's own: {glob of their names: (base, up, down, scale)}."""
    layers = []
    for glob, (base, up, down, scale) in adapters.items():
        found = [name for name, _ in module.named_modules() if fnmatch.fnmatchcase(name, glob)]
        if not found:
            raise ExportError(f"adapters name no module of the model, got: '{glob}'")
        layers += [Layer(module, path, base, up, down, scale) for path in found]
    return layers


def peft_layers(module, adapter):
    return [Layer(module, path, "base_layer", f"lora_B.{adapter}", f"lora_A.{adapter}", layer.scaling[adapter],
                  layer.fan_in_fan_out)
            for path, layer in module.named_modules() if hasattr(layer, "lora_A") and adapter in layer.lora_A]


def names_of(module):
    """Every name of a parameter or persistent buffer."""
    return list(module.state_dict(keep_vars=True))


def merged_names(module, layers, prefix="", copy=None):
    """Names of the module without adapters, by their names with them. `copy` is the place of PEFT's trained copies."""
    factors, bases, names = {f for layer in layers for f in (layer.up, layer.down)}, {}, {}
    for layer in layers:
        bases[layer.base + "."] = layer.path + "."
    for name in names_of(module):
        if name in factors or ".original_module." in name and copy:
            continue
        base = next((base for base in bases if name.startswith(base)), None)
        new = bases[base] + name[len(base):] if base else name
        names[name] = (new.replace(copy, ".") if copy else new).removeprefix(prefix)
    return names


def in_peft(module):
    """The facts of a model of PEFT with one adapter."""
    import peft
    adapter = module.active_adapter
    config = module.peft_config[adapter]
    facts = {"alone": {"files": {"adapter_config.json": config_text(config)}}}
    by_place = {p.data_ptr(): name for name, p in module.named_parameters()}
    facts["alone"]["names"] = {by_place[value.data_ptr()]: name
                               for name, value in peft.get_peft_model_state_dict(module, adapter_name=adapter).items()
                               if value.data_ptr() in by_place}
    copy = f".modules_to_save.{adapter}."
    try:
        layers = peft_layers(module, adapter)
        factors = {name for layer in layers for name in (layer.up, layer.down)}
        other = [name for name in facts["alone"]["names"] if name not in factors and copy not in name]
        if other or getattr(config, "use_dora", False):
            raise ExportError(f"'{other[0] if other else adapter}' is no factor of a sum of low rank")
    except (ExportError, AttributeError) as error:
        facts["problem"] = str(error)
        return facts
    facts["sums"] = [layer.sum() for layer in layers]
    facts["merged"] = {"names": merged_names(module, layers, "base_model.model.", copy)}
    base = module.get_base_model()
    if hasattr(getattr(base, "config", None), "to_json_string"):
        facts["merged"]["files"] = {"config.json": base.config.to_json_string()}
    return facts


def config_text(config):
    """adapter_config.json as save_pretrained writes it."""
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        with open(f"{folder}/adapter_config.json") as file:
            return json.dumps(json.load(file) | {"inference_mode": True}, indent=2, sort_keys=True)


def described(module, adapters):
    """The manifest's row of adapters, or nothing."""
    if adapters:
        layers = own_layers(module, adapters)
        return {"sums": [layer.sum() for layer in layers], "merged": {"names": merged_names(module, layers)}}
    return in_peft(module) if hasattr(module, "peft_config") and hasattr(module, "get_base_model") else None
