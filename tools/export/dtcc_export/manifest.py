# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The manifest: what an ONNX graph cannot say about the module it came from.

Metadata key "dtcc.manifest", a JSON object; docs/export.md describes every field.
"""
import fnmatch

import torch

from . import optimizers

KEY = "dtcc.manifest"
VERSION = 1


def canonical_names(module):
    """name -> first name, for all parameters: tied parameters are one object under several names."""
    first, names = {}, {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names[name] = first.setdefault(id(parameter), name)
    return names


def names_in_checkpoints(module):
    """name -> the name under which transformers saves the parameter, where that is another: its models of version 5 have names of
    their own, and read and write the older ones."""
    try:
        from transformers import PreTrainedModel
        from transformers.core_model_loading import revert_weight_conversion
    except ImportError:
        return {}
    if not isinstance(module, PreTrainedModel):
        return {}
    tensors = {name: torch.empty_like(parameter, device="meta") for name, parameter in module.named_parameters()}
    names = {id(tensor): name for name, tensor in tensors.items()}
    try:
        saved = revert_weight_conversion(module, tensors)
    except Exception:  # noqa: BLE001 - a conversion that needs the numbers, and no name
        return {}
    if any(id(tensor) not in names for tensor in saved.values()):
        return {}  # Some are joined or split on the way: no folder has all of them.
    return {names[id(tensor)]: name for name, tensor in saved.items() if names[id(tensor)] != name}


def decayed(module, optimizer, no_decay):
    """name -> whether weight decay applies: by the optimizer's groups if one is given, else to all but no_decay."""
    groups = {}
    if optimizer is not None:
        groups = {id(p): g.get("weight_decay", 0) != 0 for g in optimizer.param_groups for p in g["params"]}
    return {name: groups.get(id(p), optimizer is None) and not any(fnmatch.fnmatch(name, g) for g in no_decay)
            for name, p in module.named_parameters()}


def padding_rows(module):
    """Embedding parameter -> row that PyTorch's lookup sends no gradient to (padding_idx); ONNX has no word for it."""
    rows = {}
    for prefix, child in module.named_modules():
        if getattr(child, "padding_idx", None) is not None and hasattr(child, "weight"):
            rows[f"{prefix}.weight" if prefix else "weight"] = int(child.padding_idx)
    return rows


def parameters(module, used, optimizer, no_decay):
    """One row a name. `used` holds the names of initializers that the graph reads."""
    decay, rows, padding = decayed(module, optimizer, no_decay), [], padding_rows(module)
    groups = optimizers.group_settings(optimizer)
    trained = None if optimizer is None else {id(p) for group in optimizer.param_groups for p in group["params"]}
    for name, first in canonical_names(module).items():
        parameter = module.get_parameter(name)
        row = {"name": name, "initializer": first, "shape": list(parameter.shape), "transposed": False,
               "trainable": bool(parameter.requires_grad and (trained is None or id(parameter) in trained)),
               "decay": bool(decay[first]), "tied_to": None if name == first else first}
        row.update(groups.get(id(parameter), {}))
        if first not in used:
            row["unused"] = True  # no gradient: PyTorch's optimizers leave it alone, decay included
        if first in padding:
            row["padding_idx"] = padding[first]
        rows.append(row)
    known, others = {row["name"]: row for row in rows}, names_in_checkpoints(module)
    for name, other in others.items():
        if other not in known:
            rows.append({**known[name], "name": other, "tied_to": known[name]["initializer"], "of_checkpoints": True})
    return rows


def is_persistent(module, name):
    """Whether a buffer is part of state_dict()."""
    owner, _, own = name.rpartition(".")
    return own not in module.get_submodule(owner)._non_persistent_buffers_set


def buffers(module, initializers, follows, moving):
    """The buffers that are initializers of the file; those that forward changes say what follows them. moving: the momentum
    of running statistics."""
    rows = []
    for name, buffer in module.named_buffers():
        if name not in initializers:
            continue
        row = {"name": name, "initializer": name, "shape": list(buffer.shape)}
        if not is_persistent(module, name):
            row["persistent"] = False
        if name in follows:
            row["update"] = {"value": follows[name]}
            if name in moving:
                # PyTorch moves the running variance with the unbiased estimate, ONNX's operator with the population's.
                row["update"] |= {"momentum": moving[name], "variance": "unbiased"}
        rows.append(row)
    return rows


def inputs(graph, targets):
    """One row a graph input, with its role: tokens index a table of parameters, labels feed the loss alone."""
    rows = []
    for value in graph.inputs:
        role = "data"
        if value.name in targets:
            role = "labels"
        elif any(n.op_type == "Gather" and i == 1 and n.inputs[0] is not None and n.inputs[0].is_initializer()
                 for n, i in value.uses()):
            role = "tokens"
        shape = [d if isinstance(d, int) else str(d.value) for d in value.shape]
        rows.append({"name": value.name, "role": role, "dtype": value.dtype.name, "shape": shape})
    return rows
