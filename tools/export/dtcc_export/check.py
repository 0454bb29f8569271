# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check(): does an exported file hold the module's state, compute its loss and train as it does?"""
import copy
import json
import tempfile

import numpy as np
import onnx
import torch

from . import manifest
from .compare import differing, distance, listed, step, undropped
from .losses import ExportError, with_loss
from .operators import TRACKED_INSTANCE_NORM
from .trained import RATE, find_dtcc, gradients_by_dtcc

# Their numbers are not PyTorch's.
BATCH_NORM = ("running_mean", "running_var", "num_batches_tracked")
# A deep network may be so ill-conditioned that PyTorch's own f32 is off by more than the tolerance. There the gradients of
# dtcc may be as many times as far from those in double precision.
ROUNDINGS = 4
DRAWS = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}


def bits_of(tensor):
    """The values of a tensor in memory as an array of NumPy's, which has no bfloat16: its bits stand for it."""
    tensor = tensor.detach().cpu()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def held_as_in_module(model, module):
    """Every parameter is an initializer with the very same bytes and shape, no two names share one but the tied."""
    described = {p.key: p.value for p in model.metadata_props}
    if manifest.KEY not in described:
        raise ExportError(f"the file has no metadata '{manifest.KEY}': it is no export of dtcc's")
    facts = json.loads(described[manifest.KEY])
    held = {i.name: i for i in model.graph.initializer}
    rows = {r["name"]: r for r in facts["parameters"] if "of_checkpoints" not in r}
    expected = dict(module.named_parameters(remove_duplicate=False))
    if set(rows) != set(expected):
        raise ExportError(f"the manifest and the module differ in: {sorted(set(rows) ^ set(expected))}")
    owners = {}
    for name, parameter in expected.items():
        row = rows[name]
        if row["initializer"] not in held:
            raise ExportError(f"parameter '{name}': no initializer '{row['initializer']}'")
        value = onnx.numpy_helper.to_array(held[row["initializer"]])
        state = bits_of(parameter)
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
        if node.op_type == TRACKED_INSTANCE_NORM:  # by running statistics an instance norm is a batch norm
            node.op_type, node.domain = "BatchNormalization", ""
        if node.op_type == "BatchNormalization":
            for attribute in node.attribute:
                if attribute.name == "training_mode":
                    attribute.i = 0
            del node.output[1:]
    return model


def run_by_reference(model, feeds):
    """By ONNX's reference evaluator with three operators of its own: there GatherElements takes no more places than
    numpy.choose, an LSTM has no third result, and LogSoftmax is minus infinity where the softmax is 0."""
    import onnx.reference
    import onnx.reference.op_run

    class GatherElements(onnx.reference.op_run.OpRun):
        def _run(self, data, indices, axis=0):
            places = list(np.indices(indices.shape))
            places[axis] = indices
            return (data[tuple(places)],)

    class LogSoftmax(onnx.reference.op_run.OpRun):
        def _run(self, x, axis=-1):
            x = x - x.max(axis, keepdims=True)
            return (x - np.log(np.exp(x).sum(axis, keepdims=True)),)

    class LSTM(onnx.reference.op_run.OpRun):
        def _run(self, x, w, r, b=None, lengths=None, h=None, c=None, peepholes=None, direction=None, **_):
            if lengths is not None or peepholes is not None:
                raise NotImplementedError("an LSTM with lengths or peepholes")
            results, last = [], []
            for d in range(w.shape[0]):
                state = np.zeros((x.shape[1], r.shape[2]), x.dtype) if h is None else h[d]
                cell = np.zeros_like(state) if c is None else c[d]
                bias = 0 if b is None else b[d, :4 * r.shape[2]] + b[d, 4 * r.shape[2]:]
                is_backward, steps = direction == "reverse" or d == 1, []
                for step in x[::-1] if is_backward else x:
                    i, o, f, g = np.split(step @ w[d].T + state @ r[d].T + bias, 4, 1)
                    i, o, f = (1 / (1 + np.exp(-np.clip(gate, -80, 80))) for gate in (i, o, f))
                    cell = f * cell + i * np.tanh(g)
                    state = o * np.tanh(cell)
                    steps.append(state)
                results.append(np.stack(steps[::-1] if is_backward else steps))
                last.append((state, cell))
            return np.stack(results, 1), *(np.stack(each) for each in zip(*last))

    return onnx.reference.ReferenceEvaluator(model, new_ops=[GatherElements, LogSoftmax, LSTM]).run(None, feeds)[0]


def run(model, inputs, reference=False):
    """By ONNX Runtime if it is installed, else or if asked by ONNX's reference evaluator."""
    feeds = {k: v.detach().cpu().numpy() for k, v in inputs.items()}
    feeds = {i.name: feeds[i.name] for i in model.graph.input}
    try:
        import onnxruntime
    except ImportError:
        reference = True
    if reference:
        return run_by_reference(model, feeds)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)[0]


def twin_of(module):
    """A copy of the module. A tensor that forward computes anew and leaves in it, such as the weight of the old weight_norm, is
    none that PyTorch copies: the twin has its values."""
    computed = [value for each in module.modules() for value in vars(each).values() if isinstance(value, torch.Tensor) and not value.is_leaf]
    return copy.deepcopy(module, {id(value): value.detach().clone() for value in computed})


def precise_gradients(module, inputs, loss):
    """Name -> gradient or None of one step in double precision."""
    twin = twin_of(module).double()
    inputs = {n: v.double() if v.is_floating_point() else v for n, v in inputs.items()}
    wrapper = with_loss(twin, list(inputs), loss)[0]
    with undropped(wrapper):
        return step(wrapper, inputs, manifest.canonical_names(wrapper))[1]


def compare_step(model, facts, module, inputs, loss, dtcc, tolerance):
    """One step of SGD by PyTorch and by dtcc. Returns the greatest distance of a gradient, relative to its norm."""
    initial = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    twin = twin_of(module)
    wrapper = with_loss(twin, list(inputs), loss)[0]
    with undropped(wrapper):
        expected, gradients, _ = step(wrapper, inputs, manifest.canonical_names(wrapper))
    with tempfile.TemporaryDirectory(prefix="dtcc_export.") as folder:
        got, after = gradients_by_dtcc(model, inputs, folder, dtcc)
    if not abs(got - float(expected)) <= tolerance * max(abs(float(expected)), 1e-30):
        raise ExportError(f"dtcc's loss of the file is {got:.7g}, the module's {float(expected):.7g}")
    wanted, trained = {}, {}
    for row in facts["parameters"]:
        if row["tied_to"] is None:
            name, before = row["name"], initial[row["initializer"]]
            gradient = gradients.get("model." + name) if row["trainable"] else None
            moved = torch.from_numpy((before.astype(np.float64) - after.get(name, before)) / RATE)
            wanted[name] = gradient
            trained[name] = moved if gradient is not None or moved.abs().max() > 0 else None
    wrong = differing(wanted, trained, tolerance)
    if wrong:
        precise = precise_gradients(module, inputs, loss)
        wrong = [n for n in wrong if wanted[n] is None or trained[n] is None
                 or not distance(precise["model." + n], trained[n])
                 <= ROUNDINGS * distance(precise["model." + n], wanted[n])]
    if wrong:
        raise ExportError(f"the file would train another model: dtcc's gradients of {listed(wrong)} are others than the "
                          "module's")
    return max((distance(g, trained[n]) / max(float(g.double().norm()), 1e-30) for n, g in wanted.items()
                if g is not None and float(g.double().norm()) > 1e-6), default=0.0)


def check(path, module, example_inputs, loss=None, tolerance=1e-3):
    """Raises ExportError unless the file trains as the module does.

    The file must hold the module's parameters bit by bit and give its loss on the examples, without dropout and with
    running statistics, and in training form where the file has no dropout. Where dtcc is found ($DTCC, the path, or
    build/bin), one step of SGD by it must move every parameter as PyTorch's does, without dropout. Returns the greatest
    relative difference of the losses (None if the file draws random numbers, which are others than the module's), and that of
    a gradient (None for the same reason, without dtcc, or without a loss).
    """
    from .api import named_inputs, training
    model = onnx.load(path)
    onnx.checker.check_model(model)
    facts = held_as_in_module(model, module)
    # The rows of each input are moved against those of the others: inputs taken for each other show.
    inputs = {name: value.roll(k, 0) if value.dim() else value
              for k, (name, value) in enumerate(named_inputs(module, example_inputs).items())}

    def difference(train):
        twin = twin_of(module)  # running statistics move in training mode: not the user's
        if not train:
            twin.eval()
        # Gradients are wanted, as in the user's loop: hooks are registered on tensors that have them.
        with training(twin, None if train else False):
            expected = with_loss(twin, list(inputs), loss)[0](**inputs).detach().float().cpu().numpy()
        got = run(model, inputs, reference=True) if train else run(inference_form(model), inputs)
        return float(np.max(np.abs(got - expected)) / max(np.max(np.abs(expected)), 1e-30))

    ops = {n.op_type for n in model.graph.node}
    if ops & DRAWS:
        return None, None
    changes = any("update" in r and not r["name"].endswith(BATCH_NORM) for r in facts["buffers"])
    worst = 0.0 if changes else difference(False)
    if (changes or ops & {"BatchNormalization", TRACKED_INSTANCE_NORM}) and "Dropout" not in ops:
        worst = max(worst, difference(True))
    if not worst <= min(tolerance, 1e-4):
        raise ExportError(f"the file's loss differs from the module's by {worst:.3g} (relative)")
    dtcc = find_dtcc()
    if dtcc is None or facts["loss"]["kind"] == "none":
        return worst, None
    with training(module, None):
        return worst, compare_step(model, facts, module, inputs, loss, dtcc, tolerance)
