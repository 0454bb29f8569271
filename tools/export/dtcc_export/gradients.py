# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The traced program with what it does to gradients and buffers said by operators and outputs.

torch.export notes detach() and the regions of no_grad(), which the ONNX exporter then drops. `mark` makes them the operators
of operators.py, and what forward leaves in buffers outputs.
"""
import operator
import traceback

import torch
import torch.utils._pytree as pytree
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument

from .backward import is_float, is_impure, mutated, resolve
from .losses import ExportError
from .notes import HERE, LIBRARY
from .operators import REPLACE, STOP

SET_GRAD = torch.ops.higher_order.wrap_with_set_grad_enabled
AUTOCAST = torch.ops.higher_order.wrap_with_autocast
# Norms by the batch's or the sample's statistics, if argument 5 holds; arguments 3 and 4 are the running ones.
NORMS = (torch.ops.aten.batch_norm.default, torch.ops.aten.instance_norm.default)
MOMENTUM = 6
DETACHES = (torch.ops.aten.detach.default, torch.ops.aten.detach_.default)


def region_of(node, casts):
    """(body, operands, whether gradients are on or None) of a region whose nodes may stand in the graph itself; None of any other
    node. `casts`: whether the graph itself is inside a region of autocast that is on."""
    if node.op != "call_function":
        return None
    if node.target is SET_GRAD:
        enabled, body, *operands = node.args
        return body, operands, enabled
    if node.target is AUTOCAST and not casts:
        device, _, enabled, _, body, *operands = node.args
        # On tensors of another device autocast does nothing.
        here = any(isinstance(each.meta.get("val"), torch.Tensor) and each.meta["val"].device.type == device for each in operands)
        return None if enabled and here else (body, operands, None)
    return None


def inline_regions(module, casts=False):
    """Puts the bodies of regions into the graph: of no_grad() and enable_grad(), whose nodes say so in their meta data, and of
    autocast() that is off."""
    graph = module.graph
    for node in list(graph.nodes):
        region = region_of(node, casts)
        if region is None:
            if node.op == "call_function" and node.target is AUTOCAST:
                inline_regions(getattr(module, node.args[4].target), casts=True)
            continue
        body, operands, enabled = region
        inner = getattr(module, body.target)
        inline_regions(inner, casts)
        names = {p: o for p, o in zip([n for n in inner.graph.nodes if n.op == "placeholder"], operands)}
        with graph.inserting_before(node):
            for part in inner.graph.nodes:
                if part.op == "placeholder":
                    continue
                if part.op == "output":
                    outputs = part.args[0]
                    break
                if part.op == "get_attr":
                    name = f"{body.target}_{part.target}"
                    setattr(module, name, getattr(inner, part.target))
                    copy = graph.get_attr(name)
                    copy.meta = dict(part.meta)
                else:
                    copy = graph.node_copy(part, lambda n: names[n])
                if enabled is not None:
                    copy.meta.setdefault("dtcc_grad", enabled)
                names[part] = copy
        for user in list(node.users):
            if user.target is not operator.getitem:
                raise ExportError("a region of no_grad() or autocast() is used in a way that is not known")
            user.replace_all_uses_with(names[outputs[user.args[1]]])
            graph.erase_node(user)
        graph.erase_node(node)
        if not body.users:
            graph.erase_node(body)


def calls_inside(module):
    """Calls in the bodies of the regions that stay, and in theirs."""
    for node in module.graph.nodes:
        inner = getattr(module, str(node.target), None) if node.op == "get_attr" else None
        if isinstance(inner, torch.fx.GraphModule):
            yield from (part for part in inner.graph.nodes if part.op == "call_function")
            yield from calls_inside(inner)


def check_inside(module):
    """Refuses what is lost in a region that stays, as one of autocast() that is on."""
    for node in calls_inside(module):
        stops = node.target in (*DETACHES, SET_GRAD, STOP, REPLACE)
        if stops or node.target in NORMS or any(base(changed).op == "placeholder" for changed in mutated(node)):
            what = "holds back a gradient" if stops else f"calls '{node.target}', which changes what lies outside,"
            raise ExportError(f"forward {what} inside a region that a trace keeps apart (autocast() that is on, torch.cond, scan){place(node)}, "
                              "which cannot be exported: move it out of the region; instead of autocast(), give dtcc --precision")


def restore_readers(graph):
    """Readers of each node, complete. torch.export (2.15) loses some beside a region of no_grad() where a call returns its
    operand itself, as flatten does where there is nothing to flatten: a node without readers is then removed and cannot be."""
    for node in graph.nodes:
        for operand in node.all_input_nodes:
            operand.users.setdefault(node)


def place(node):
    """The line of the user's code that a node is from, in brackets: the last of its stack outside PyTorch."""
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines() if line.strip()]
    frames = [(file, code) for file, code in zip(lines, lines[1:]) if file.startswith("File ") and not code.startswith("File ")]
    own = [code for file, code in frames if LIBRARY not in file] or [code for _, code in frames]
    if not own:
        return ""
    return bracketed(own[-1])


def bracketed(code):
    opened = code.count("(") - code.count(")")  # of a call that goes on in further lines
    return f" ({code}{'..' + ')' * opened if opened > 0 else ''})"


def place_of(error):
    """The line of the user's code in which an error came up, in brackets: the last of its stack outside PyTorch and this script."""
    own = [frame.line for frame in traceback.extract_tb(error.__traceback__)
           if frame.line and not frame.filename.startswith((LIBRARY, HERE))]
    return bracketed(own[-1]) if own else ""


def place_of_call():
    """The line of the user's code that runs now, in brackets: the last of the stack outside PyTorch and this script."""
    users = [frame for frame in traceback.extract_stack() if not frame.filename.startswith((LIBRARY, HERE))]
    return f" ({users[-1].line})" if users else ""


def base(node):
    """What a chain of views looks at."""
    while node.op == "call_function" and node.args and isinstance(node.args[0], torch.fx.Node):
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.arguments or schema.arguments[0].alias_info is None:
            return node
        node = node.args[0]
    return node


def moves_statistics(node):
    return node.target in NORMS and node.args[3] is not None and node.args[5]


def moving_statistics(program):
    """The buffers that norms move as running statistics, with the momentum."""
    buffers = program.graph_signature.inputs_to_buffers
    return {buffers[each.name]: node.args[MOMENTUM] for node in program.graph.nodes if moves_statistics(node)
            for each in node.args[3:5] if each.name in buffers}


def check_reads(program):
    """Refuses reads of running statistics that the file could not say: behind the norm that moves them, where they are others
    than before the step, and by a norm in evaluation mode, which the file does not tell from those in training mode."""
    graph, buffers = program.graph_module.graph, program.graph_signature.inputs_to_buffers
    moved, behind = {n for n in graph.nodes for m in n.users if moves_statistics(m) and n in m.args[3:5] and n.name in buffers}, set()
    for node in graph.nodes:
        if moves_statistics(node):
            behind.update(each for each in node.args[3:5] if each in moved)
            continue
        if node.op == "output":
            continue
        for buffer in [b for b in map(base, node.all_input_nodes) if b in moved]:
            name = buffers[buffer.name].removeprefix("model.")
            if node.target in NORMS:
                raise ExportError(f"one forward pass moves the running statistics '{name}' and normalises by them{place(node)}, which "
                                  "cannot be exported: give the pass in evaluation mode a module of its own, or let both be in training mode")
            if buffer in behind:
                raise ExportError(f"forward reads '{name}' behind the norm that moves it{place(node)}, which cannot be exported: read "
                                  "it before the norm, or keep a moving average in a buffer of your own")


def unread_norms(graph):
    """Norms that move running statistics and whose results no output reads, as in a head that is not trained now."""
    read = set()
    for node in reversed(graph.nodes):
        if node.op == "output" or node in read:
            read.update(node.all_input_nodes)
    return [n for n in graph.nodes if moves_statistics(n) and n not in read]


def expose_buffers(program, changed):
    """What forward leaves in buffers are outputs of the program, behind its own; so are the results of norms that serve
    their statistics alone. changed: placeholders. Returns the number of these norms."""
    graph, signature = program.graph_module.graph, program.graph_signature
    output = next(n for n in graph.nodes if n.op == "output")
    values = list(output.args[0])
    unread = unread_norms(graph)
    for node in [*changed, *unread]:
        with graph.inserting_before(output):
            copy = graph.call_function(torch.ops.aten.clone.default, (node,))
        copy.meta = {"val": node.meta["val"]}
        values.append(copy)
        argument = TensorArgument(name=copy.name)
        signature.output_specs.append(OutputSpec(kind=OutputKind.USER_OUTPUT, arg=argument, target=None))
        program.module_call_graph[0].signature.outputs.append(argument)
    output.args = (tuple(values),)
    program.module_call_graph[0].signature.out_spec = pytree.tree_flatten((0,) * len(values))[1]
    return len(unread)


def mark(program):
    """Rewrites the traced program: what stops a gradient in PyTorch is an operator that says so.

    Returns the names of the buffers that forward changes, in the order of the outputs that follow them, and how many
    outputs follow these for their norms' sake. The running statistics of norms are not among the buffers: their operators
    move them.
    """
    module = program.graph_module
    graph = module.graph
    restore_readers(graph)
    inline_regions(module)
    check_inside(module)
    resolve(module)
    signature = program.graph_signature
    parameters, buffers = signature.inputs_to_parameters, signature.inputs_to_buffers
    tracked, stops, moved = set(), {}, {}

    def stopped(value, before):
        if value not in stops:
            with graph.inserting_before(before):
                stops[value] = graph.call_function(STOP, (value,))
            stops[value].meta = dict(value.meta)
        return stops[value]

    for node in list(graph.nodes):
        if node.op == "placeholder":
            name = parameters.get(node.name)
            if name is not None and program.state_dict[name].requires_grad:
                tracked.add(node)
            continue
        if node.op == "output":
            break
        enabled = node.meta.get("dtcc_grad", True)
        operands = [n for n in node.all_input_nodes if n in tracked]
        for changed in mutated(node):
            source = base(changed)
            if source.name in parameters:
                raise ExportError(f"parameter '{parameters[source.name].removeprefix('model.')}' is changed in forward"
                                  f"{place(node)}, which cannot be exported; change it after the optimizer's step")
            if source.name in buffers:
                moved[source] = True
            if node.target is torch.ops.aten.embedding_renorm_.default:
                raise ExportError(f"an embedding with max_norm changes its weight in forward{place(node)}, which cannot be "
                                  "exported; leave max_norm out, and scale the rows that it gives")
            if changed in tracked and not enabled or changed in stops.values():
                raise ExportError("a tensor that a gradient passes is changed in place where gradients are off"
                                  f"{place(node)}; write x + (changed - x).detach() instead")
            if enabled and operands:
                tracked.add(changed)
            stops.pop(changed, None)
        if node.target in DETACHES:
            if operands:
                node.replace_all_uses_with(stopped(node.args[0], node))
            continue
        if node.target is STOP:
            continue
        if not enabled:
            for operand in operands:
                if is_float(operand):
                    node.replace_input_with(operand, stopped(operand, node))
            continue
        if node.target is REPLACE:
            operands = [n for n in operands if n is node.args[1]]
        if operands and (is_float(node) or not isinstance(node.meta.get("val"), torch.Tensor)):
            tracked.add(node)
    check_reads(program)
    unread = expose_buffers(program, moved)
    graph.eliminate_dead_code(is_impure)
    graph.lint()
    module.recompile()
    return [buffers[n.name] for n in moved], unread
