# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of a module that can be traced: transformers offers several of one computation.

Its default for experts calls a kernel that ONNX has no operator for; the batched form gathers the picked experts'
weights, from which dtcc recovers the layer. PyTorch cannot decompose some uses of fused attention (T5's); the plain form
says the same in products and a softmax, which dtcc recovers too.
"""
import contextlib

TRACED_EXPERTS = ("batched_mm", "eager")


@contextlib.contextmanager
def chosen(module, setter, field, form):
    """The module with `form` for what `setter` sets and `config.field` tells; what it had comes back."""
    before = getattr(getattr(module, "config", None), field, None)
    if before is None or before == form or not hasattr(module, setter):
        yield
        return
    getattr(module, setter)(form)
    try:
        yield
    finally:
        getattr(module, setter)(before)


@contextlib.contextmanager
def traced_experts(module):
    """The module with its experts in a form that ONNX can say."""
    if getattr(getattr(module, "config", None), "_experts_implementation", None) in TRACED_EXPERTS:
        yield
        return
    with chosen(module, "set_experts_implementation", "_experts_implementation", "batched_mm"):
        yield


def with_plain_attention(module, trace):
    """What trace() returns; where it fails under fused attention, it is tried once more with the plain form."""
    fused = getattr(getattr(module, "config", None), "_attn_implementation", None) == "sdpa"
    if not fused or not hasattr(module, "set_attn_implementation"):
        return trace()
    try:
        return trace()
    except Exception as first:  # noqa: BLE001 - the exporter wraps every error in one of its own
        with chosen(module, "set_attn_implementation", "_attn_implementation", "eager"):
            try:
                return trace()
            except Exception:  # noqa: BLE001
                # The form that the user chose is the one to speak of.
                raise first from None
