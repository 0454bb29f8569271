# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exporter's decompositions, of large programs one call at a time.

The exporter traces the whole program twice more in order to take calls apart that ONNX has no operator for. Unrolled loops have
thousands of calls, of which nearly all have an operator, and most of an export was spent there. Here only the others are traced,
each by itself. Programs with calls that change an operand, or with programs inside, take the exporter's way.
"""
import contextlib
import operator
from unittest import mock

import torch
import torch.utils._pytree as pytree
from torch.export.exported_program import _override_composite_implicit_decomp, _split_decomp_table_to_cia_and_python_decomp
from torch.fx.experimental.proxy_tensor import make_fx
from torch.onnx._internal.exporter import _decomp, _fx_passes
from torch.onnx._internal.fx.passes import type_promotion

from .backward import of_vmap

FROM = 400  # nodes from which on a program counts as large
MOST = 0.25  # share of the calls that may be taken apart


def is_translated(node, translated):
    """Whether a call stays as it is. Calls of Python are on sizes, and pick results."""
    return not isinstance(node.target, torch._ops.OpOverload) or node.target in translated


def is_plain(program):
    """Whether the program has calls of operators alone, none of which changes an operand."""
    for node in program.graph.nodes:
        if node.op == "get_attr" or (node.op == "call_function" and (
                isinstance(node.target, torch._ops.HigherOrderOperator) or of_vmap(node)
                or isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable)):
            return False
    return True


def parts_of(node, table):
    """The call as a graph of its operands that are nodes, and these; None if its results are no tensors, or something else
    reads them than what picks one."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) and not (
            isinstance(value, (list, tuple)) and all(isinstance(each, torch.Tensor) for each in value)
            and all(user.target is operator.getitem for user in node.users)):
        return None
    flat, spec = pytree.tree_flatten((node.args, node.kwargs))
    operands = [each for each in flat if isinstance(each, torch.fx.Node)]

    def call(*values):
        values = iter(values)
        args, kwargs = pytree.tree_unflatten([next(values) if isinstance(each, torch.fx.Node) else each for each in flat], spec)
        return node.target(*args, **kwargs)

    fakes = [each.meta["val"] for each in operands]
    with torch._guards.detect_fake_mode([fakes, value]), torch.no_grad():
        return make_fx(call, decomposition_table=table, tracing_mode="real")(*fakes).graph, operands


def put_in_place(program, node, result, placed):
    placed[node] = result
    node.replace_all_uses_with(result)
    program.graph_signature.replace_all_uses(node.name, result.name)
    program.graph.erase_node(node)


def take_apart(program, translated, table):
    """The program with its calls taken apart that are not translated, or None, with the program as it was."""
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    others = [node for node in calls if not is_translated(node, translated)]
    if len(calls) < FROM or len(others) > MOST * len(calls) or not is_plain(program):
        return None
    # As in the exporter's way, calls in a decomposition stay whole too if they are translated: log_sigmoid in a cross entropy.
    composite, table = _split_decomp_table_to_cia_and_python_decomp(table)
    with _override_composite_implicit_decomp(composite):
        made = [parts_of(node, table) for node in others]
    if any(each is None or any(part.op == "get_attr" or part.op == "call_function" and not is_translated(part, translated)
                               for part in each[0].nodes) for each in made):
        return None
    placed = {}  # What stands for a call that is gone: an operand may have been taken apart before.
    for node, (graph, operands) in zip(others, made):
        names = dict(zip([part for part in graph.nodes if part.op == "placeholder"], [placed.get(each, each) for each in operands]))
        with program.graph.inserting_before(node):
            for part in graph.nodes:
                if part.op == "call_function":
                    names[part] = program.graph.node_copy(part, lambda read: names[read])
                    names[part].meta = {**node.meta, "val": part.meta["val"]}
                elif part.op == "output":
                    results = part.args[0]
        if isinstance(results, torch.fx.Node):
            put_in_place(program, node, names[results], placed)
            continue
        for user in list(node.users):
            put_in_place(program, user, names[results[user.args[1]]], placed)
        program.graph.erase_node(node)
    program.graph.lint()
    # The exporter translates every program inside, also those of regions that now stand in the graph itself (gradients.py).
    program.graph_module.delete_all_unused_submodules()
    program.graph_module.recompile()
    return program


def keeps_types(module):
    """Whether no operand needs another type: those of calls that have a rule about types are tensors of f32."""
    table = type_promotion.TypePromotionTable()
    for node in module.graph.nodes:
        if type_promotion.get_type_promotion_rule(node, table) is None:
            continue
        operands = [each.meta.get("val") for each in node.all_input_nodes]
        if not all(isinstance(each, torch.Tensor) and each.dtype is torch.float32 for each in operands):
            return False
        if getattr(node.meta.get("val"), "dtype", None) not in (torch.float32, torch.bool):
            return False
    return True


@contextlib.contextmanager
def of_single_calls():
    """While a program is exported, it is taken apart call by call where that is possible, and operands of one type keep it."""
    whole, promote = _fx_passes.decompose_with_registry, _fx_passes.insert_type_promotion_nodes

    def decompose(program, registry):
        translated = set(_decomp.get_onnx_implemented_overloads(registry))
        table = _decomp.create_onnx_friendly_decomposition_table(translated)
        return take_apart(program, translated, table) or whole(program, registry)

    def promote_some(module):
        if not keeps_types(module):
            promote(module)

    with mock.patch.object(_fx_passes, "decompose_with_registry", decompose), \
            mock.patch.object(_fx_passes, "insert_type_promotion_nodes", promote_some):
        yield
