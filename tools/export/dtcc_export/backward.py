# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backward passes and gradient hooks as gradients of a path.

A backward pass that is linear in the gradient it gets is the gradient of its transpose. The nodes between the gradient that
comes and those that go are cut out of the traced graph, PyTorch's vjp transposes them, and the result is the path of
a replace_gradient.
"""
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from .losses import ExportError
from .notes import reason
from .operators import PULLED_BACK, REPLACE, STOP


# Calls that read sizes alone.
CONSTANTS = {"zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full",
             "scalar_tensor"}


def is_float(node):
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def of_vmap(node):
    """Whether a call enters or leaves torch.func.vmap, or marks an operand for it. Some have no result, and all must stay."""
    return getattr(node.target, "__module__", None) == "torch._functorch.predispatch"


def is_impure(node):
    """Whether a call that nothing reads must stay."""
    return node.is_impure() or of_vmap(node)


def mutated(node):
    """The operands that a call changes in place."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return []
    given = dict(zip((s.name for s in schema.arguments), node.args)) | node.kwargs
    return [given[s.name] for s in schema.arguments if s.alias_info is not None and s.alias_info.is_write
            and isinstance(given.get(s.name), torch.fx.Node)]


def region_of(node):
    """The nodes between the gradient that comes and those that go, in order, and what they read from outside. Constants
    that only they read, such as the zeros that stand for no gradient, are among them."""
    graph, start = node.graph, node.args[1]
    inside = {start}
    order = list(graph.nodes)
    for at in order[order.index(start) + 1:order.index(node)]:
        if any(n in inside for n in at.all_input_nodes):
            inside.add(at)
            # A tensor that is filled in place inside the region is created inside, too.
            for changed in mutated(at):
                while changed not in inside and changed.op == "call_function":
                    inside.add(changed)
                    changed = changed.args[0] if changed.args and isinstance(changed.args[0], torch.fx.Node) else changed
    inside.update(n for at in [*inside, node] for n in at.all_input_nodes
                  if getattr(n.target, "_opname", None) in CONSTANTS and all(user in inside or user is node for user in n.users))
    region = [n for n in order if n in inside and n is not start]
    outside = []
    for n in region + [g for g in node.args[3]]:
        for read in ([n] if n in node.args[3] and n not in inside else n.all_input_nodes if n in inside else []):
            if read not in inside and read not in outside:
                outside.append(read)
    return region, outside


def backward_of(node, region, outside):
    """The backward pass of one function: (gradient, what is outside) -> gradients."""
    graph = torch.fx.Graph()
    names = {node.args[1]: graph.placeholder("gradient")}
    for i, n in enumerate(outside):
        names[n] = graph.placeholder(f"outside{i}")
    for n in region:
        names[n] = graph.node_copy(n, lambda m: names[m])
    graph.output(tuple(names[n] for n in node.args[3]))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def sample(value, generator):
    """A tensor or number with the size of the example's."""
    if isinstance(value, torch.Tensor):
        sizes = [s if isinstance(s, int) else s.node.hint for s in value.shape]
        if value.is_floating_point():
            return torch.rand(sizes, generator=generator, dtype=torch.float64) + 0.5
        return torch.ones(sizes, dtype=value.dtype)
    return value.node.hint if isinstance(value, torch.SymInt) else value


def check_linear(node, function, outside):
    """A backward pass that is not linear in the gradient is that of no function."""
    generator = torch.Generator().manual_seed(0)
    reads = [sample(n.meta["val"], generator) for n in outside]
    like = sample(node.args[1].meta["val"], generator)
    one, other = (torch.randn(like.shape, generator=generator, dtype=like.dtype) * 3 for _ in range(2))
    try:
        made = [function(g.clone(), *[r.clone() if isinstance(r, torch.Tensor) else r for r in reads])
                for g in (one, other, one - 2 * other)]
    except Exception:  # noqa: BLE001 - the values stand for integers of unknown meaning; export() compares anyway
        return
    for a, b, c in zip(*made):
        if not torch.allclose(a - 2 * b, c, rtol=1e-6, atol=1e-6, equal_nan=True):
            raise ExportError(f"{node.args[4]} is not linear in the gradient it gets (it clips or normalises it, say), "
                              "so that no loss has this gradient; clip with dtcc's --clip, or leave it out")


def transpose(node, function, outside):
    """The transpose of a backward pass, as a graph: (operands, what is outside) -> one tensor like the value."""
    operands, count = node.args[2], len(node.args[2])
    fakes = [n.meta["val"] for n in (node.args[1], *operands, *outside)]

    def transposed(gradient, *values):
        pull = torch.func.vjp(lambda g: function(g, *values[count:]), gradient)[1]
        return pull(tuple(v.expand_as(v) for v in values[:count]))[0]

    mode = torch._guards.detect_fake_mode(fakes)
    with mode, torch.no_grad():
        return make_fx(transposed, tracing_mode="real")(*fakes)


def resolve(module):
    """Makes every backward pass and hook that was noted the gradient of a path."""
    graph = module.graph
    noted_nodes = [n for n in graph.nodes if n.op == "call_function" and n.target is PULLED_BACK]
    for node in noted_nodes:
        value, gradient, operands, gradients, whose = node.args
        hook = list(operands) == [value] and not node.users
        if not gradients:
            with graph.inserting_before(node):
                path = None
                new = graph.call_function(STOP, (value,))
        else:
            region, outside = region_of(node)
            function = backward_of(node, region, outside)
            check_linear(node, function, outside)
            try:
                transposed = transpose(node, function, outside)
            except Exception as error:  # noqa: BLE001
                raise ExportError(f"{whose} has no gradient that can be exported ({reason(error)}); write it with "
                                  "operations and detach()") from error
            with graph.inserting_before(node):
                constants = [graph.call_function(STOP, (n,)) if is_float(n) else n for n in outside]
                for made, n in zip(constants, outside):
                    made.meta.setdefault("val", n.meta.get("val"))
                names = dict(zip([n for n in transposed.graph.nodes if n.op == "placeholder"],
                                 [value, *operands, *constants]))
                for part in transposed.graph.nodes:
                    if part.op == "output":
                        path = names[part.args[0]]
                    elif part.op == "get_attr":
                        name = f"_constant_{node.name}_{part.target}"
                        setattr(module, name, getattr(transposed, part.target))
                        names[part] = graph.get_attr(name)
                    elif part.op != "placeholder":
                        names[part] = graph.node_copy(part, lambda m: names[m])
                new = graph.call_function(REPLACE, (value, path))
        new.meta = dict(node.meta)
        if hook:
            # Every use has the gradient that the hook makes, but what the hook itself reads.
            own, pending = {new}, [new]
            while pending:
                for n in pending.pop().all_input_nodes:
                    if n is not value and n not in own:
                        own.add(n)
                        pending.append(n)
            value.replace_all_uses_with(new, delete_user_cb=lambda user: user not in own and user is not node)
        else:
            node.replace_all_uses_with(new)
        graph.erase_node(node)
        for n in reversed([gradient, *region] if gradients else [gradient]):
            if not n.users:
                graph.erase_node(n)
    if noted_nodes:
        put_in_order(graph)


def put_in_order(graph):
    """Moves nodes behind what they read; others keep their order."""
    placed, last = set(), None
    for first in list(graph.nodes):
        pending = [first]
        while pending:
            node = pending[-1]
            missing = [n for n in node.all_input_nodes if n not in placed]
            if missing and node not in placed:
                pending.extend(missing)
                continue
            pending.pop()
            if node not in placed:
                placed.add(node)
                if last is not None:
                    last.append(node)
                last = node
