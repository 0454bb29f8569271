# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check(): does an exported file hold the module's state, and compute its loss?"""
import copy
import json

import numpy as np
import onnx
import torch

from . import manifest
from .losses import ExportError, with_loss


def held_as_in_module(model, module):
    """Every parameter is an initializer with the very same bytes and shape, no two names share one but the tied."""
    facts = json.loads({p.key: p.value for p in model.metadata_props}[manifest.KEY])
    held = {i.name: i for i in model.graph.initializer}
    rows = {r["name"]: r for r in facts["parameters"]}
    expected = dict(module.named_parameters(remove_duplicate=False))
    if set(rows) != set(expected):
        raise ExportError(f"the manifest and the module differ in: {sorted(set(rows) ^ set(expected))}")
    owners = {}
    for name, parameter in expected.items():
        row = rows[name]
        if row["initializer"] not in held:
            raise ExportError(f"parameter '{name}': no initializer '{row['initializer']}'")
        value = onnx.numpy_helper.to_array(held[row["initializer"]])
        state = parameter.detach().numpy()
        if value.shape != state.shape or value.tobytes() != state.tobytes():
            raise ExportError(f"parameter '{name}': initializer '{row['initializer']}' holds other values")
        owners.setdefault(row["initializer"], set()).add(id(parameter))
    merged = [name for name, ids in owners.items() if len(ids) > 1]
    if merged:
        raise ExportError(f"initializers that stand for several parameters: {merged}")
    return facts


def inference_form(model):
    """The same graph without randomness and batch statistics, and with picks in order: what two frameworks can agree on."""
    model = copy.deepcopy(model)
    off = "dtcc.off"  # one of its own: the exporter's constants may serve other nodes too
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(False), off))
    for node in model.graph.node:
        if node.op_type == "Dropout" and len(node.input) > 2:
            node.input[2] = off
        if node.op_type == "TopK":
            for attribute in node.attribute:
                if attribute.name == "sorted":
                    attribute.i = 1
        if node.op_type == "BatchNormalization":
            for attribute in node.attribute:
                if attribute.name == "training_mode":
                    attribute.i = 0
            del node.output[1:]
    return model


def run(model, inputs, reference=False):
    """By ONNX Runtime if it is installed, else or if asked by ONNX's reference evaluator."""
    feeds = {k: v.detach().numpy() for k, v in inputs.items()}
    feeds = {i.name: feeds[i.name] for i in model.graph.input}
    try:
        import onnxruntime
    except ImportError:
        reference = True
    if reference:
        import onnx.reference
        return onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)[0]


def check(path, module, example_inputs, loss=None, tolerance=1e-4):
    """Raises ExportError unless the file holds the module's parameters bit by bit and gives the module's loss on the
    examples: with dropout off and batch norm on its running statistics, and also in training form where the file has
    no dropout. Returns the greater relative difference of the losses.
    """
    from .api import named_inputs
    model = onnx.load(path)
    onnx.checker.check_model(model)
    held_as_in_module(model, module)
    # The rows of each input are moved against those of the others: inputs taken for each other show.
    inputs = {name: value.roll(k, 0) if value.dim() else value
              for k, (name, value) in enumerate(named_inputs(module, example_inputs).items())}

    def difference(train):
        twin = copy.deepcopy(module).train(train)  # running statistics move in training mode: not the user's
        with torch.no_grad():
            expected = with_loss(twin, list(inputs), loss)[0](**inputs).numpy()
        got = run(model, inputs, reference=True) if train else run(inference_form(model), inputs)
        return float(np.max(np.abs(got - expected)) / max(np.max(np.abs(expected)), 1e-30))

    ops = {n.op_type for n in model.graph.node}
    worst = difference(False)
    if "BatchNormalization" in ops and "Dropout" not in ops:
        worst = max(worst, difference(True))
    if not worst <= tolerance:
        raise ExportError(f"the file's loss differs from the module's by {worst:.3g} (relative)")
    return worst
