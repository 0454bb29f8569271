# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does the traced program train as the module does?

Both run once on the example, with equal random numbers. Their losses, the gradient of every parameter and what forward
leaves in every buffer must be equal: whatever tracing loses, and nobody thought of, shows here.
"""
import contextlib

import torch
import torch.nn.functional as F

from . import forms, manifest
from .losses import ExportError
from .operators import STOP

NAMED = 4  # names in a message
aten = torch.ops.aten


def listed(names):
    names = [f"'{n}'" for n in names]
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


@contextlib.contextmanager
def untouched(module):
    """The module's gradients and buffers as they were."""
    gradients = {p: p.grad for p in module.parameters()}
    buffers = [(m, dict(m._buffers), {k: v.clone() for k, v in m._buffers.items() if v is not None})
               for m in module.modules()]
    for parameter in gradients:
        parameter.grad = None
    try:
        yield
    finally:
        for parameter, gradient in gradients.items():
            parameter.grad = gradient
        for owner, tensors, values in buffers:
            owner._buffers.update(tensors)
            with torch.no_grad():
                for name, value in values.items():
                    if value.is_meta or not torch.equal(tensors[name], value):  # Expanded buffers cannot be written to.
                        tensors[name].copy_(value)


def gradients_of(module, names):
    """Name -> gradient or None. `names` gives the first name of tied parameters, whose gradients add up."""
    gradients = {}
    for parameter, name in {p: names.get(n, n) for n, p in module.named_parameters(remove_duplicate=False)}.items():
        known = gradients.get(name)
        gradients[name] = known if parameter.grad is None else parameter.grad if known is None else known + parameter.grad
    return gradients


def step(module, inputs, names):
    """(loss, name -> gradient or None, name -> buffer) of one forward and backward pass."""
    # A buffer that forward assigns is one that the trace changes in place: the backward pass is to see what it was.
    copies = torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t)
    with untouched(module), torch.random.fork_rng(devices=[]), copies:
        torch.manual_seed(0)
        result = module(**{n: v.clone() for n, v in inputs.items()})
        loss = result[0] if isinstance(result, tuple) else result
        loss.double().sum().backward()
        return (loss.detach().clone(), gradients_of(module, names),
                {n: b.detach().clone() for n, b in module.named_buffers()})


@contextlib.contextmanager
def undropped(module):
    """PyTorch's dropouts do nothing, in training mode too, and those of the module's recurrent layers."""
    names = [n for n in dir(F) if n.endswith("dropout") or n.startswith("dropout") or n.startswith("feature_")]
    kept = {n: getattr(F, n) for n in names} | {"scaled_dot_product_attention": F.scaled_dot_product_attention}

    def attention(query, key, value, attn_mask=None, dropout_p=0.0, *others, **options):
        return kept["scaled_dot_product_attention"](query, key, value, attn_mask, 0.0, *others, **options)

    recurrent = {layer: layer.dropout for layer in module.modules() if isinstance(layer, torch.nn.RNNBase)}
    for name in names:
        setattr(F, name, lambda x, *_, **__: x)
    F.scaled_dot_product_attention = attention
    for layer in recurrent:
        layer.dropout = 0.0
    try:
        yield
    finally:
        for layer, rate in recurrent.items():
            layer.dropout = rate
        for name, function in kept.items():
            setattr(F, name, function)


def runnable(program, drops):
    """The program as a module in which stop_gradient is detach(): no gradient is computed for what it holds back. Experts
    that are picked for each row are multiplied one after the other: a copy for each row may be larger than the memory.
    Dropouts do nothing unless `drops`."""
    module = program.module()
    for node in list(module.graph.nodes):
        if not drops:
            keep_all(node)
        if node.target is STOP:
            node.target = detached
        elif node.target is aten.bmm.default:
            multiply_by_picked(node)
    module.recompile()
    return module


def keep_all(node):
    """Makes 0 of the rate at which a call drops cells."""
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema else []
    for rate in {"dropout", "dropout_p", *(["p"] if "dropout" in str(node.target) else [])}.intersection(names):
        place = names.index(rate)
        if place < len(node.args):
            node.update_arg(place, 0.0)
        elif rate in node.kwargs:
            node.update_kwarg(rate, 0.0)


def detached(x):
    return x.detach().clone()


def is_of_parameter(node):
    """Whether a node is a parameter, or one that is turned or cast."""
    while node.op == "call_function" and len(node.all_input_nodes) == 1:
        node = node.all_input_nodes[0]
    return node.op == "get_attr"


def multiply_by_picked(product):
    """Makes a call of picked_product of a batched product one of whose sides are matrices picked from a parameter."""
    for side, gathered in enumerate(product.args):
        if gathered.target is not aten.index.Tensor or not is_of_parameter(gathered.args[0]) or len(gathered.args[1]) != 1:
            continue
        picked = gathered.args[1][0]
        if picked.meta["val"].dim() != 1 or picked.meta["val"].dtype is torch.bool:
            continue
        product.target, product.args = picked_product, (gathered.args[0], picked, product.args[1 - side], side)
        if not gathered.users:
            product.graph.erase_node(gathered)
        return


def picked_product(matrices, picked, x, side):
    """bmm of matrices[picked] and x (`side` 0), or of x and matrices[picked] (`side` 1), of one matrix after the other."""
    equation = ("ij,njk->nik", "nij,jk->nik")[side]
    rows, parts = [], []
    for each in picked.unique():
        rows.append((picked == each).nonzero().squeeze(1))
        operands = matrices[each], x[rows[-1]]
        parts.append(torch.einsum(equation, *operands[::-1 if side else 1]))
    return torch.cat(parts)[torch.cat(rows).argsort()]


def is_comparable(wrapper):
    return any(p.requires_grad for p in wrapper.parameters()) and not any(t.is_meta for t in (*wrapper.parameters(), *wrapper.buffers()))


def agrees(program, wrapper, inputs, drops, tolerance=1e-3):
    """Whether the program trains as the module does on inputs of other sizes than the example's. PyTorch's own check of its
    sizes is left out."""
    if not is_comparable(wrapper):
        return False
    names = manifest.canonical_names(wrapper)
    traced = runnable(program, drops)
    for node in [n for n in traced.graph.nodes if n.op == "call_module" and n.target == "_guards_fn"]:
        traced.graph.erase_node(node)
    traced.recompile()
    try:
        with forms.experts(wrapper, "eager"), contextlib.nullcontext() if drops else undropped(wrapper):
            loss, gradients, _ = step(wrapper, inputs, names)
        traced_loss, found, _ = step(traced, inputs, names)
    except Exception:  # noqa: BLE001 - what the module or the trace refuses has many kinds
        return False
    return torch.allclose(traced_loss.double(), loss.double(), rtol=tolerance, equal_nan=True) and \
        not differing({n: g for n, g in gradients.items() if n in found or g is not None}, found, tolerance)


def exact(cells):
    """Numbers in double precision, of complex ones both parts: rotary positions are often a buffer of them."""
    return (torch.view_as_real(cells) if cells.is_complex() else cells).double()


def distance(a, b):
    return float((a.double() - b.double()).norm())


def differing(wanted, got, tolerance):
    """Names of parameters whose gradients differ, beyond the rounding of sums that are nearly zero."""
    total = sum(float(g.double().norm()) ** 2 for g in wanted.values() if g is not None) ** 0.5
    return [n for n, g in wanted.items()
            if (g is None) != (got.get(n) is None)
            or g is not None and not distance(g, got[n]) <= tolerance * max(float(g.double().norm()), 1e-3 * total)]


def check_trace(program, wrapper, inputs, followed, drops=True, tolerance=1e-3):
    """Raises ExportError where the program would train otherwise, or where forward changes a buffer that is not
    `followed`; returns the parameters that have no gradient. Neither drops cells unless `drops`: a trace that computes more
    cells than the module draws other numbers."""
    if not is_comparable(wrapper):
        return set()
    names = manifest.canonical_names(wrapper)
    before = {n: b.detach().clone() for n, b in wrapper.named_buffers()}
    with forms.experts(wrapper, "eager"), contextlib.nullcontext() if drops else undropped(wrapper):
        loss, gradients, buffers = step(wrapper, inputs, names)
    lost = [n.removeprefix("model.") for n, b in buffers.items()
            if n not in followed and n in before and not torch.equal(b, before[n])]
    if lost:
        raise ExportError(f"forward changes the buffers {listed(lost)} inside an operation that cannot be exported, such as "
                          "a norm that moves a view of a buffer; give it buffers of their own, or switch that off")
    traced_loss, traced, traced_buffers = step(runnable(program, drops), inputs, names)
    if not torch.allclose(traced_loss.double(), loss.double(), rtol=tolerance, equal_nan=True):
        raise ExportError(f"the module computes {float(loss.double().sum()):.6g} on the example and its trace "
                          f"{float(traced_loss.double().sum()):.6g}: forward does something that cannot be traced, such "
                          "as numbers from Python or NumPy")
    infinite = [n.removeprefix("model.") for n, g in gradients.items() if g is not None and not torch.isfinite(g).all()]
    if infinite:
        raise ExportError(f"the module's own gradients of {listed(infinite)} are not finite on the example, where its loss is "
                          f"{float(loss.double().sum()):.6g}, and no trace can be compared with them; torch.where(.., x, y) does "
                          "not hold back the NaN in a gradient of the operand that it does not choose")
    wrong = differing({n: g for n, g in gradients.items() if n in traced or g is not None}, traced, tolerance)
    prefix = "model."
    if wrong:
        hooks = [n.removeprefix(prefix) for n, m in wrapper.named_modules() if m._backward_hooks or m._backward_pre_hooks]
        why = (f"the backward hooks of {listed(hooks)} cannot be exported, remove them or write what they do with "
               "operations and detach()" if hooks else
               "something in forward changes gradients in a way that cannot be traced; write it with operations and "
               "detach()")
        raise ExportError(f"the gradients of {listed(n.removeprefix(prefix) for n in wrong)} would be others than the "
                          f"module's: {why}")
    wrong = [n.removeprefix(prefix) for n, b in buffers.items()
             if n in traced_buffers and not torch.allclose(exact(b), exact(traced_buffers[n]), rtol=tolerance,
                                                           atol=1e-5, equal_nan=True)]
    if wrong:
        twice = all(n.rsplit(".", 1)[-1] in ("running_mean", "running_var", "num_batches_tracked") for n in wrong)
        raise ExportError(f"forward changes the buffers {listed(wrong)} in a way that cannot be traced; " +
                          ("torch.utils.checkpoint moves the statistics of a norm once more on the way back: leave it out "
                           "around norms, and give dtcc --recompute" if twice else "write it with operations on tensors"))
    return {n.removeprefix(prefix) for n, p in wrapper.named_parameters()
            if p.requires_grad and gradients.get(names[n]) is None}
