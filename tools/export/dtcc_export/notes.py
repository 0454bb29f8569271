# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tracing does not note of gradients by itself.

torch.export loses the backward pass of an autograd.Function, hooks, and `.data`. While a module is traced under `noted`,
these become calls: `.data` is detach(), and a backward pass or hook runs on a gradient that is yet to come
(operators.COTANGENT). backward.py makes a gradient of what it did.
"""
import contextlib
import inspect
import os
import traceback
from unittest import mock

import torch
from torch._functorch import eager_transforms

from .losses import ExportError
from .operators import COTANGENT, PULLED_BACK


# Folders of PyTorch and of this script.
LIBRARY, HERE = (os.path.join(os.path.dirname(file), "") for file in (torch.__file__, __file__))

# PyTorch's own, which `noted` puts another in the place of.
APPLY = torch.autograd.Function.__dict__["apply"]

# What PyTorch generates for torch.ops.dtcc.alignments, a call that stays in the trace.
KEPT = "GeneratedBackwardFor_dtcc_alignments_default"


# The lines at which forward, while it was traced last, took a gradient of its own. Most cannot be traced, and PyTorch says why in
# words about its own workings.
derivatives = []


def noting(function):
    """`function`, which takes gradients, with a note of the line of the user's that calls it."""
    def noted_call(*args, **kwargs):
        callers = [frame for frame in traceback.extract_stack()[:-1] if not frame.filename.startswith(LIBRARY)]
        if not callers[-1].filename.startswith(HERE):  # as those of ctc_loss are
            derivatives.append(callers[-1].line)
        return function(*args, **kwargs)
    return noted_call


class Context:
    """What forward and backward of an autograd.Function find as `ctx`."""

    def __init__(self, needs):
        self.needs_input_grad, self.saved_tensors = needs, ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def set_materialize_grads(self, value):
        pass

    def mark_non_differentiable(self, *tensors):
        self.not_differentiable = {id(t) for t in tensors}

    def mark_dirty(self, *tensors):
        raise ExportError("changes its operand in place (mark_dirty)")


def constant(value):
    return value.detach() if isinstance(value, torch.Tensor) else value


def reason(error):
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def apply_noted(cls, *args, **kwargs):
    """Instead of autograd.Function.apply: forward, and backward of a gradient that is yet to come."""
    if cls.__module__.startswith("torch._higher_order_ops."):
        return APPLY.__get__(None, cls)(*args, **kwargs)  # tracing's own, whose forward must see what traces it
    if cls.__name__ == KEPT:
        return APPLY.__get__(None, cls)(*args, **kwargs)
    if cls is torch.utils.checkpoint.CheckpointFunction:
        return args[0](*args[2:])  # the same computation, with less memory
    needs = torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
    tracked = tuple(needs and isinstance(a, torch.Tensor) and a.requires_grad for a in args)
    context, constants = Context(tracked), [constant(a) for a in args]
    whose = f"autograd.Function '{cls.__qualname__}'"
    try:
        with torch.no_grad():
            if cls.setup_context is torch.autograd.Function.setup_context:
                values = cls.forward(context, *constants, **kwargs)
            else:
                values = cls.forward(*constants, **kwargs)
                cls.setup_context(context, tuple(constants), values)
            if not needs:
                return values
            outputs = values if isinstance(values, tuple) else (values,)
            skipped = getattr(context, "not_differentiable", set())
            floats = [i for i, v in enumerate(outputs)
                      if isinstance(v, torch.Tensor) and v.is_floating_point() and id(v) not in skipped]
            if len(floats) > 1:
                raise ExportError("has several outputs with gradients, which cannot be exported; split it")
            incoming = [COTANGENT(v) if i in floats else None for i, v in enumerate(outputs)]
            got = inspect.unwrap(cls.backward)(context, *incoming)
    except ExportError as error:
        raise ExportError(f"{whose} {error}") from None
    except Exception as error:  # noqa: BLE001 - whatever the user's code raises under tracing
        raise ExportError(f"{whose} cannot be traced ({reason(error)}); write it with operations and detach(), for "
                          "example path + (value - path).detach()") from error
    got = got if isinstance(got, tuple) else (got,)
    pairs = [(a, g) for a, g, t in zip(args, got, tracked) if t and g is not None]
    return_values = list(outputs)
    for i in floats:
        return_values[i] = PULLED_BACK(outputs[i], incoming[i], [a for a, _ in pairs], [g for _, g in pairs], whose)
    return tuple(return_values) if isinstance(values, tuple) else return_values[0]


class Removable:
    def remove(self):
        raise ExportError("a hook of a tensor's gradient that forward removes again cannot be exported")


def hook_noted(tensor, hook):
    """Instead of Tensor.register_hook: what the hook makes of a gradient that is yet to come."""
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    whose = f"the gradient hook '{getattr(hook, '__qualname__', type(hook).__name__)}'"
    try:
        with torch.no_grad():
            incoming = COTANGENT(tensor)
            changed = hook(incoming)
    except Exception as error:  # noqa: BLE001
        raise ExportError(f"{whose} cannot be traced ({reason(error)}); scale or mask the gradient with operations "
                          "and detach() instead") from error
    if changed is not None:
        PULLED_BACK(tensor, incoming, [tensor], [changed], whose)
    return Removable()


@contextlib.contextmanager
def noted(module):
    """While `module` is traced, calls that change gradients are traced as operators of this project."""
    late = [n for n, p in module.named_parameters() if getattr(p, "_post_accumulate_grad_hooks", None)]
    if late:
        raise ExportError(f"parameter '{late[0].removeprefix('model.')}' has a hook on its accumulated gradient, which cannot be exported; "
                          "remove it: dtcc accumulates and updates by itself")
    hooks = {n: list((p._backward_hooks or {}).values()) for n, p in module.named_parameters()}
    hooks = {n: of for n, of in hooks.items() if of}
    modules = [(m, m._backward_hooks, m._backward_pre_hooks) for m in module.modules()]

    before = []

    def enter(traced, *_):
        parameters = dict(traced.named_parameters())
        for name, of in hooks.items():
            for hook in of:
                parameters[name].register_hook(hook)
        before[:] = [(m, name, b) for m in traced.modules() for name, b in m._buffers.items() if b is not None]

    def leave(*_):
        # A buffer that forward assigns to is copied into the original, so that the change is recorded.
        for owner, name, value in before:
            if owner._buffers.get(name) is not value and owner._buffers.get(name) is not None:
                with torch.no_grad():
                    value.copy_(owner._buffers[name])
                owner._buffers[name] = value

    function, tensor = torch.autograd.Function, torch.Tensor
    kept = function.__dict__["apply"], tensor.register_hook
    function.apply, tensor.register_hook = classmethod(apply_noted), hook_noted
    tensor.data = property(torch.Tensor.detach, torch._C.TensorBase.data.__set__)
    for m, *_ in modules:
        m._backward_hooks, m._backward_pre_hooks = {}, {}
    handles = [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]
    derivatives.clear()
    takers = ((torch.autograd, "_engine_run_backward"), (eager_transforms, "grad_and_value_impl"), (eager_transforms, "_vjp_with_argnums"))
    try:
        with contextlib.ExitStack() as patches:
            for place, name in takers:
                patches.enter_context(mock.patch.object(place, name, noting(getattr(place, name))))
            yield
    finally:
        function.apply, tensor.register_hook = kept
        del tensor.data
        for m, backward, ahead in modules:
            m._backward_hooks, m._backward_pre_hooks = backward, ahead
        for handle in handles:
            handle.remove()
