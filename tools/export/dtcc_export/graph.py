# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work on the exported graph: nothing that trains may be folded, merged, transposed or switched off."""
import contextlib
import itertools
from unittest import mock

import numpy
import onnx_ir as ir
from onnxscript.rewriter import _basics, _matcher, _pattern_ir

from .operators import TRACKED_INSTANCE_NORM

NORMS = ("BatchNormalization", TRACKED_INSTANCE_NORM)


@contextlib.contextmanager
def hidden(graph, values):
    """Turns initializers into graph inputs for a while.

    An optimizer cannot fold, merge, fuse or drop what it does not know: the exporter's own optimizer may then be used
    on everything else. Whatever became of uses inside, the values come back as initializers under their names.
    """
    held = {}
    for value in values:
        held[value] = (value.name, value.const_value)
        del graph.initializers[value.name]
        value.const_value = None
        graph.inputs.append(value)
    try:
        yield
    finally:
        for value, (name, tensor) in held.items():
            graph.inputs.remove(value)
            value.name, value.const_value = name, tensor
            graph.initializers[name] = value


@contextlib.contextmanager
def exact_constants():
    """Lets the exporter's optimizer take a constant for another only if they differ by the rounding of f32.

    Its rules compare within 1e-8, or 1e-5 of the value: the 1e-8 that keeps a division finite is then a zero that may go.
    """
    matches = _matcher.SimplePatternMatcher._match_constant

    def match(matcher, pattern, value):
        return matches(matcher, _pattern_ir.Constant(pattern.value, rel_tol=1e-7, abs_tol=0.0), value)

    with mock.patch.object(_matcher.SimplePatternMatcher, "_match_constant", match):
        yield


class Candidates:
    """A graph of which a matcher sees a few nodes alone."""

    def __init__(self, graph, nodes):
        self.graph, self.nodes = getattr(graph, "graph", graph), nodes

    def __iter__(self):
        return iter(self.nodes)


@contextlib.contextmanager
def quick_matches():
    """Lets the exporter's optimizer reject a node by its kind before it sets up a match, which changes no result.

    A rule of several nodes, such as that of slices which become a split, lists the whole graph for every node: the time of
    an unrolled loop then grows with the square of its steps. Its nodes read one value, so the readers of that value suffice.
    """
    matches, nothing = _matcher.SimplePatternMatcher.match, _basics.MatchResult().fail("another kind of node")

    def match(matcher, model, graph, node, **options):
        first, *others = matcher.pattern.output_nodes
        kind = first.op_identifier()
        if kind is not None and kind[:2] != (node.domain, node.op_type):
            return nothing
        if others and first.inputs and all(each.inputs[:1] == first.inputs[:1] for each in others):
            graph = Candidates(graph, readers_of(node.inputs[0]))
        return matches(matcher, model, graph, node, **options)

    with mock.patch.object(_matcher.SimplePatternMatcher, "match", match):
        yield


def readers_of(value):
    """The nodes that read a value, each once."""
    return list(dict.fromkeys(reader for reader, _ in value.uses()))


@contextlib.contextmanager
def distinct_dropouts(graph):
    """Marks every Dropout: the optimizer would take two of one tensor for a common subexpression."""
    nodes = [n for n in graph if n.op_type == "Dropout" and "seed" not in n.attributes]
    for number, node in enumerate(nodes):
        node.attributes["seed"] = ir.AttrInt64("seed", number)
    try:
        yield
    finally:
        for node in nodes:
            node.attributes.pop("seed", None)


def switch_on_dropout(graph):
    """Gives every Dropout its training_mode: the exporter leaves it out for attention's. Returns how many it gave.

    Whoever traced a module in training mode has only dropouts that work; those of frozen parts leave no node.
    """
    given = 0
    true = None
    for node in list(graph):
        if node.op_type != "Dropout" or (len(node.inputs) > 2 and node.inputs[2] is not None):
            continue
        if true is None:
            tensor = ir.tensor([True], dtype=ir.DataType.BOOL, name="training_mode").numpy().reshape(())
            constant = ir.node("Constant", [], attributes={"value": ir.tensor(tensor)})
            graph.insert_before(node, constant)
            true = constant.outputs[0]
            true.dtype, true.shape = ir.DataType.BOOL, ir.Shape([])
        inputs = list(node.inputs) + [None] * (3 - len(node.inputs))
        node.resize_inputs(3)
        for index, value in enumerate(inputs[:2]):
            node.replace_input_with(index, value)
        node.replace_input_with(2, true)
        given += 1
    return given


def switch_on_norms(graph, training):
    """Puts BatchNormalization into the form that uses the batch's statistics and moves the running ones, and names what
    moves, also of instance norms.

    training: names of the running statistics that move. Returns {buffer's name: the value that follows it}.
    """
    follows, last = {}, {}
    for node in graph:
        if node.op_type not in NORMS:
            continue
        statistics = [behind_identities(value) for value in list(node.inputs)[3:5]]
        if statistics[0] is None or statistics[0].name not in training:
            continue
        if node.op_type == "BatchNormalization":
            node.attributes["training_mode"] = ir.AttrInt64("training_mode", 1)
        if len(node.outputs) == 1:
            node.resize_outputs(3)
        for place, (output, buffer) in enumerate(zip(list(node.outputs)[1:], statistics)):
            node.replace_input_with(3 + place, buffer)
            # A norm that is called again moves what the call before left.
            if buffer.name in last:
                last[buffer.name].name += f".{node.outputs[0].name}"
            output.name = buffer.name + ".next"
            output.shape, output.dtype = buffer.shape, buffer.dtype
            follows[buffer.name] = output.name
            last[buffer.name] = output
    return follows


def put_out_statistics(graph, results):
    """Makes the statistics of norms, of which `results` are the results, outputs of the graph: nothing else reads them."""
    for result in results:
        graph.outputs.extend(list(behind_identities(result).producer().outputs)[1:])


def behind_identities(value):
    while value is not None and value.producer() is not None and value.producer().op_type == "Identity":
        value = value.producer().inputs[0]
    return value


def name_buffers(graph, changed):
    """Names the last outputs of the graph after the buffers that they follow. Returns {buffer: the output's name}."""
    follows = {}
    for place, buffer in zip(range(len(graph.outputs) - len(changed), len(graph.outputs)), changed):
        value = graph.outputs[place]
        if value.producer() is None or value in list(graph.outputs)[:place]:
            copy = ir.node("Identity", [value])
            graph.append(copy)
            copy.outputs[0].shape, copy.outputs[0].dtype = value.shape, value.dtype
            graph.outputs[place] = value = copy.outputs[0]
        follows[buffer] = value.name = buffer + ".next"
    return follows


def separate_names(graph):
    """Renames values inside that have the name of an initializer or an input: a buffer 'mean' and the result of mean()."""
    taken = set(graph.initializers) | {v.name for v in graph.inputs}
    values = [v for node in ir.traversal.RecursiveGraphIterator(graph) for v in node.outputs]
    used = taken | {v.name for v in values}
    for value in values:
        if value.name in taken and value not in graph.outputs:
            number = next(n for n in itertools.count(1) if f"{value.name}_{n}" not in used)
            value.name = f"{value.name}_{number}"
            used.add(value.name)


def flatten_axes(graph):
    """The axis of a CumSum is a scalar: the exporter's logcumsumexp gives it as a vector of one cell."""
    for node in graph:
        axis = node.inputs[1] if node.op_type == "CumSum" else None
        if axis is not None and axis.const_value is not None and len(axis.const_value.shape) == 1:
            scalar = ir.Value(name=f"{node.outputs[0].name}_axis", const_value=ir.tensor(axis.const_value.numpy().reshape(())))
            scalar.shape, scalar.dtype = scalar.const_value.shape, scalar.const_value.dtype
            graph.initializers[scalar.name] = scalar
            node.replace_input_with(1, scalar)


def leave_no_key(graph):
    """Gives attention whose mask of booleans leaves a query no key the result 0, as PyTorch does: the exporter takes the least
    finite number for PyTorch's -inf, so that such a query sees all keys alike and its guard against NaN finds none."""
    for node in graph:
        weights = node.inputs[0].producer() if node.op_type == "IsNaN" else None
        scores = weights.inputs[0].producer() if weights is not None and weights.op_type == "Softmax" else None
        if scores is None or scores.op_type != "Add":
            continue
        for place, mask in enumerate(scores.inputs):
            choice = mask.producer()
            reader, place = (choice, 2) if choice is not None and choice.op_type == "Where" else (scores, place)
            fill = reader.inputs[place]
            numbers = fill.const_value.numpy() if fill.const_value is not None else None
            if numbers is None or not (least := numbers == ir.DataType(fill.const_value.dtype).min).any():
                continue
            value = ir.Value(name=f"{node.outputs[0].name}_fill{place}",
                             const_value=ir.tensor(numpy.where(least, numpy.array(-numpy.inf, numbers.dtype), numbers)))
            value.shape, value.dtype = value.const_value.shape, value.const_value.dtype
            graph.initializers[value.name] = value
            reader.replace_input_with(place, value)


def drop_traces(model):
    """Removes what only debugging the exporter needs: local paths, and most of a small file's size."""
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        for key in [k for k in node.metadata_props if k != "namespace"]:
            del node.metadata_props[key]
    for value in list(model.graph.inputs) + list(model.graph.initializers.values()):
        value.metadata_props.clear()
    model.metadata_props.clear()
    model.graph.metadata_props.clear()
