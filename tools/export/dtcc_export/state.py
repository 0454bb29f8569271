# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What forward leaves behind in Python, and takes from Python at random: a trace holds both as they were on the example.

The module runs as PyTorch runs it, before it is traced. Attributes that only the first pass fills, as caches of positions, are
harmless if the passes behind compute the same.
"""
import contextlib
import random
import sys
from collections.abc import Mapping

import torch

from .compare import listed, untouched
from .losses import ExportError

DEPTH = 4  # of containers in containers
# A module's own, which PyTorch keeps.
KEPT_BY_TORCH = set(vars(torch.nn.Module())) | {"_flat_weights", "_flat_weights_names", "_flat_weight_refs"}
HOOKS = [name for name in KEPT_BY_TORCH if "_hooks" in name and isinstance(vars(torch.nn.Module())[name], dict)]


def copy_of(value, depth=DEPTH):
    """The value of a tensor, number, text or container that forward could change; None of anything else."""
    if isinstance(value, torch.nn.Parameter):
        return None
    if isinstance(value, torch.Tensor):
        return None if value.is_meta else value.detach().clone()
    if isinstance(value, (bool, int, float, complex, str)):
        return value
    if depth and isinstance(value, Mapping):
        return {key: copy_of(each, depth - 1) for key, each in list(value.items())}
    if depth and isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        return [copy_of(each, depth - 1) for each in value]
    return None


def equal(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a.to(torch.float64), b.to(torch.float64), equal_nan=True) \
            if not a.is_complex() else a.shape == b.shape
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b or a != a and b != b


def snapshot(module):
    """(path of an attribute) -> its value, of all modules inside."""
    return {f"{name}.{key}" if name else key: copy_of(value) for name, each in module.named_modules()
            for key, value in vars(each).items() if key not in KEPT_BY_TORCH}


@contextlib.contextmanager
def restored(module):
    """Attributes, and the values of tensors and containers in them, come back as they were; hooks too, as those that transformers
    installs in its first pass, with an attribute that says so."""
    hooks = [(held, held.copy()) for each in module.modules() for held in map(vars(each).get, HOOKS) if held is not None]
    kept = []
    for each in module.modules():
        own = {key: value for key, value in vars(each).items() if key not in KEPT_BY_TORCH}
        kept.append((each, own, {key: copy_of(v) for key, v in own.items() if isinstance(v, torch.Tensor)},
                     {key: v.copy() for key, v in own.items() if type(v) in (list, dict)}))
    try:
        yield
    finally:
        for held, before in hooks:
            held.clear()
            held.update(before)
        for each, own, tensors, containers in kept:
            for key in [k for k in vars(each) if k not in KEPT_BY_TORCH and k not in own]:
                del vars(each)[key]
            vars(each).update(own)
            with torch.no_grad():
                for key, value in tensors.items():
                    if value is not None and not equal(own[key].detach(), value):
                        own[key].detach().copy_(value)
            for key, value in containers.items():
                own[key].clear()
                own[key].extend(value) if isinstance(value, list) else own[key].update(value)


def drawn_from():
    """What the generators of Python and NumPy would draw next."""
    numpy = sys.modules.get("numpy")
    drawn = {"Python's random": random.getstate()}
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        drawn["numpy.random"] = (kind, keys.tobytes(), *rest)
    return drawn


@contextlib.contextmanager
def generators_kept():
    numpy = sys.modules.get("numpy")
    state = random.getstate(), numpy and numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(state[0])
        if numpy is not None:
            numpy.random.set_state(state[1])


def one_pass(wrapper, inputs):
    """The loss of a forward pass from the same buffers and random numbers each time, and what the generators drew from."""
    with untouched(wrapper), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        before = drawn_from()
        result = wrapper(**{name: value.clone() for name, value in inputs.items()})
        drew = [name for name, state in drawn_from().items() if state != before[name]]
        return copy_of(result), drew


def check_state(wrapper, inputs):
    """Raises ExportError where forward draws from Python's or NumPy's generators, or where a later pass would compute something
    else because of what an earlier one has left in Python attributes."""
    if any(t.is_meta for t in (*wrapper.parameters(), *wrapper.buffers())):
        return
    before = snapshot(wrapper)
    with restored(wrapper), generators_kept():
        try:
            result, drew = one_pass(wrapper, inputs)
            after = [snapshot(wrapper)]
            if not drew and not equal(before, after[0]):
                second, _ = one_pass(wrapper, inputs)
                after.append(snapshot(wrapper))
                one_pass(wrapper, inputs)
                after.append(snapshot(wrapper))
        except Exception:  # noqa: BLE001 - the trace says what is wrong
            return
    if drew:
        raise ExportError(f"forward draws numbers from {drew[0]}, of which a trace keeps those that it drew on the example: draw them by "
                          "torch, or give them as an input")
    if len(after) == 1:
        return
    changing = [key for key in after[2] if not (equal(after[0].get(key), after[1].get(key)) and equal(after[1].get(key), after[2][key]))]
    if not changing and not equal(result, second):
        changing = [key for key in after[0] if key not in before or not equal(before[key], after[0][key])]
    if changing:
        raise ExportError(f"forward changes {listed(key.removeprefix('model.') for key in changing)}, and a trace keeps what it held on the "
                          "example: make it a buffer (register_buffer), or change it outside of forward")
