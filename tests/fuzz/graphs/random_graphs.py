# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random training graphs, as ONNX and as functions of PyTorch side by side.

A graph starts with a pool of values: data, and parameters combined with them. `build` of random_operations.py draws operations
that read values of the pool, and puts their results into it. The loss is a sum over the values that nothing reads. Sizes are
small and often odd or 1; the batch too is at times odd. A parameter may be drawn again, so that several nodes read it whole or
in parts, and an operation may get the same operand twice. A seed always gives the same graph.
"""
import dataclasses
import math
import os
import random
from typing import Callable

import numpy
import onnx
import torch
import torch.nn.functional as F

import older_sets

OPERATIONS = []
JUMPS = {"ArgMax", "ArgMin", "Ceil", "Floor", "GRU", "GlobalMaxPool", "Greater", "GreaterOrEqual", "Hardmax", "LSTM", "Less",
         "LessOrEqual", "Max", "MaxPool", "Min", "Mod", "RNN", "ReduceMax", "ReduceMin", "Round", "Scan", "Sign", "TopK"}
KINDS = {"float64": onnx.TensorProto.DOUBLE, "float16": onnx.TensorProto.FLOAT16, "bfloat16": onnx.TensorProto.BFLOAT16}
MOST_CELLS, MOST_RANK, LARGEST = 6000, 5, 20.0


def operation(ranks=range(1, MOST_RANK + 1), batched=None, fits=lambda x: True, weight=1):
    """Puts a function into the table, from which it is drawn as often as `weight` says. The function adds nodes that read the
    value that it gets, whose rank is one of `ranks`, and returns the values to put into the pool: one, or several."""
    def register(function):
        def takes(x):
            return x.rank in ranks and batched in (None, x.batched) and len(x.free) > 0 and fits(x)
        OPERATIONS.extend([(function, takes)] * weight)
        return function
    return register


def number(graph, value):
    return graph.constant(numpy.float32(value))


def integers(graph, *values):
    return graph.constant(numpy.array(values, numpy.int64))


class Unfit(Exception):
    """The drawn operation cannot be added to this graph: another one is drawn."""


def rows_of_logits(graph, x):
    """Logits [rows, classes] of a value with positions, and the label of each row."""
    if x.shape[1] != graph.labels.shape[1]:
        raise Unfit
    logits = graph.node("MatMul", [x, graph.parameter([x.shape[2], graph.classes], 0.7)], torch.matmul)
    logits = graph.node("Reshape", [logits, integers(graph, -1, graph.classes)], lambda x, _: x.reshape(-1, graph.classes))
    return logits, graph.node("Reshape", [graph.labels, integers(graph, -1)], lambda x, _: x.reshape(-1))


@dataclasses.dataclass(eq=False)
class Value:
    """A tensor of the graph: its name in ONNX and its cells in double precision."""
    name: str
    cells: torch.Tensor
    batched: bool  # Dimension 0 is the batch.

    shape = property(lambda self: list(self.cells.shape))
    rank = property(lambda self: self.cells.dim())
    free = property(lambda self: list(range(int(self.batched), self.rank)))  # the dimensions besides the batch


@dataclasses.dataclass
class Node:
    kind: str
    operands: list
    results: list
    compute: Callable  # the cells of the results, from those of the operands
    attributes: dict
    domain: str = ""
    inner: int = 0  # so many operands at the end are read by graphs inside of the attributes alone
    form: tuple = None  # operands and attributes as the operator set of the graph writes them

    @property
    def jumps(self):
        """Whether rounded operands, or rounded steps of a loop, may give quite another result or gradient."""
        return self.kind in JUMPS


class RandomGraph:
    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), numpy.random.default_rng(seed)
        self.nodes, self.inputs, self.parameters, self.constants, self.pool, self.losses = [], [], [], [], [], []
        self.normalizes_batch = False  # Statistics of a batch: those of a micro-batch are others.
        self.has_known_statistics, self.has_experts, self.opset = False, False, 23
        self.attached = None  # a loss by the command line
        self.count, self.sizes = 0, {}  # sizes: of dimensions besides the batch that the file leaves open, when it is written
        choose = self.draw.choice
        self.older = choose(older_sets.SETS) if self.draw.random() < 0.4 else None  # an operator set that the graph must fit
        self.kind = choose(list(KINDS)) if self.draw.random() < 0.15 else "float32"  # of all floats but the data
        self.batch = choose([4] * 14 + [8, 8, 8, 6, 3, 2, 1, 5])
        x = self.numbers.standard_normal([self.batch] + [choose([1, 2, 3, 4, 5, 6, 8]) for _ in range(choose([1, 2, 2, 3, 3]))])
        x = self.input("x", (numpy.round(x * 2) / 2 if self.draw.random() < 0.25 else x).astype(numpy.float32))  # ties
        sequence, self.classes = choose([1, 2, 4, 6, 7]), choose([3, 5, 8])
        self.ids = self.input("ids", self.numbers.integers(0, self.classes, [self.batch, sequence]))
        labels = self.numbers.integers(0, self.classes, [self.batch, sequence])
        labels[self.numbers.random(labels.shape) < 0.3] = -1
        labels[:, 0] = 0
        self.labels = self.input("labels", labels)
        self.mask = self.input("mask", self.numbers.random([self.batch, sequence]) < 0.6)
        self.lengths = self.input("lengths", self.numbers.integers(1, sequence + 1, [self.batch]).astype(numpy.int32))
        table = self.numbers.standard_normal([choose([1, 2, 3, 4, 6]), choose([1, 2, 3])]).astype(numpy.float32)
        self.table = self.input("table", table, batched=False)
        self.put(x)
        self.put(self.node("Mul", [x, self.parameter_for(x)], torch.mul))
        table = self.parameter([self.classes, choose([1, 2, 3, 4, 8])])
        self.put(self.node("Gather", [table, self.ids], lambda t, i: t[i], batched=True))
        self.put(self.parameter([choose([2, 3, 4, 6]), choose([1, 2, 3, 4, 5])]))

    def name(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def input(self, name, cells, batched=True):
        cells = torch.tensor(cells)
        self.inputs.append(Value(name, self.stored(cells) if cells.is_floating_point() else cells, batched))
        return self.inputs[-1]

    def stored(self, cells):
        """Floats that the type of the graph holds, in double precision."""
        return cells.to(getattr(torch, self.kind)).double()

    def constant(self, cells):
        """A constant of float32, int64 or booleans."""
        cells = torch.tensor(numpy.asarray(cells))
        kind = torch.bool if cells.dtype == torch.bool else torch.long
        cells = self.stored(cells) if cells.is_floating_point() else cells.to(kind)
        self.constants.append(Value(self.name("c"), cells, False))
        return self.constants[-1]

    def parameter(self, shape, scale=1.0):
        """A new parameter, or one of this shape that the graph has."""
        same = [p for p in self.parameters if p.shape == list(shape)]
        if same and self.draw.random() < 0.4:
            return self.draw.choice(same)
        cells = self.stored(torch.tensor((self.numbers.standard_normal(shape) * scale).astype(numpy.float32)))
        self.parameters.append(Value(self.name("p"), cells.requires_grad_(), False))
        if self.draw.random() < 0.3:
            self.put(self.parameters[-1])
        return self.parameters[-1]

    def parameter_for(self, x):
        """A parameter that broadcasts to a value, whose batch it does not have."""
        shape = [1 if self.draw.random() < 0.3 else size for size in x.shape[1:]]
        shape = shape[self.draw.randint(0, len(shape)):] or [1]
        return self.parameter([1] * (x.rank - len(shape)) + shape if self.draw.random() < 0.15 else shape)

    def node(self, kind, operands, compute, results=1, batched=None, domain="", inner=0, **attributes):
        """Adds a node. An operand is a value, or None for one that is left out. Graphs inside of the attributes may read the
        last `inner` operands by their names."""
        form = None
        if self.older and not domain:
            try:
                form = older_sets.form(kind, operands[:len(operands) - inner], attributes, self.older, self.constants)
            except older_sets.Newer:
                raise Unfit
            compute = older_sets.meaning(kind, compute, attributes, self.older)
        there = [operand for operand in operands if operand]
        cells = compute(*(operand.cells for operand in there))
        batched = any(operand.batched for operand in there) if batched is None else batched
        made = [Value(self.name("v"), each, batched) for each in (cells if results > 1 else [cells])]
        self.nodes.append(Node(kind, operands, made, compute, attributes, domain, inner, form))
        return made[0] if results == 1 else made

    def put(self, value):
        """Lets later nodes read a value, unless it is too large. Its magnitude stays small too."""
        if value.cells.numel() > MOST_CELLS or value.rank > MOST_RANK or not torch.isfinite(value.cells).all():
            return
        if value.cells.numel() and value.cells.abs().max() > LARGEST:
            value = self.node("Tanh", [value], torch.tanh)
        self.pool.append(value)

    def pick(self, fits):
        """A value of the pool that fits, rather one of the last."""
        found = [value for value in self.pool if fits(value)]
        if not found:
            raise Unfit
        return found[max(self.draw.randrange(len(found)), self.draw.randrange(len(found)))]

    def axis(self, x, fits=lambda size: True):
        """A dimension of a value besides its batch, from the front and as an attribute may write it."""
        axes = [axis for axis in x.free if fits(x.shape[axis])]
        if not axes:
            raise Unfit
        axis = self.draw.choice(axes)
        return axis, axis - x.rank if self.draw.random() < 0.4 else axis

    def attach_loss(self):
        """Ends the graph in a value, whose loss and target the command line names."""
        ends = [value for value in self.pool[::-1] if value.batched and value.rank > 1 and value.cells.requires_grad]
        if not ends:
            return False
        value, kind = ends[0], self.draw.choice(["mse", "l1", "bce", "cross_entropy"])
        if kind == "cross_entropy":
            axis = self.draw.choice(value.free)
            classes, shape = value.shape[axis], value.shape[:axis] + value.shape[axis + 1:]
            if classes < 2:
                return False
            smoothing = self.draw.choice([0.0, 0.25])
            target = self.numbers.integers(0, classes, shape)
            target[self.numbers.random(shape) < 0.2] = -7
            target.flat[0] = 0
            text = f"logits={value.name},labels=target,axis={axis - value.rank},ignore_index=-7,label_smoothing={smoothing}"
            def compute(x, t):
                return F.cross_entropy(x.movedim(axis, 1), t, ignore_index=-7, label_smoothing=smoothing)
        else:
            target = self.numbers.random(value.shape).astype(numpy.float32)
            target = numpy.round(target) if kind == "bce" else target
            compute = {"mse": F.mse_loss, "l1": F.l1_loss, "bce": F.binary_cross_entropy_with_logits}[kind]
            text = f"logits={value.name},labels=target" if kind == "bce" else f"prediction={value.name},target=target"
        self.target = self.input("target", target)
        self.loss = self.node(kind, [value, self.target], compute, batched=False, domain="attached")
        self.prune()
        self.attached, self.outputs = f"{kind}:{text}", []
        return True

    def add_loss(self):
        """The loss: a sum of the losses so far and of one for each value that nothing reads."""
        if self.draw.random() < 0.1 and not self.losses and self.kind == "float32" and self.attach_loss():
            return
        read = {operand for node in self.nodes for operand in node.operands}
        ends = [value for value in self.pool if value not in read and value.cells.requires_grad]
        if not any(value.batched for value in ends):
            ends.append(self.pool[1])
        for value in ends:
            form = self.draw.randrange(3)
            if form == 0:
                value = self.node("Mul", [value, value], torch.mul)
            elif form == 1:
                value = self.node("Tanh", [value], torch.tanh)
            else:
                shape = value.shape[int(value.batched):]
                weights = self.constant(self.numbers.standard_normal(math.prod(shape)).astype(numpy.float32))
                sizes = self.constant(numpy.array(shape, numpy.int64))
                weights = self.node("Reshape", [weights, sizes], lambda x, _, shape=shape: x.reshape(shape))
                value = self.node("Mul", [value, weights], torch.mul)
            if value.cells.numel() < 64 and self.draw.random() < 0.5:
                self.losses.append(self.node("ReduceSum", [value], torch.sum, batched=False, keepdims=0))
            else:
                self.losses.append(self.node("ReduceMean", [value], torch.mean, batched=False, keepdims=0))
        self.loss = self.node("Sum", self.losses, lambda *terms: sum(terms))
        self.prune()
        made = [value for node in self.nodes for value in node.results if value.batched and value.cells.requires_grad]
        self.outputs = self.draw.sample(made, min(len(made), self.draw.choice([0, 0, 0, 1, 2])))
        if self.draw.random() < 0.15:
            self.outputs.append(self.losses[0])  # The file does not tell by itself which of the scalars is the loss.

    def prune(self):
        """Removes what the loss does not reach."""
        reached, kept = {self.loss}, []
        for node in reversed(self.nodes):
            if reached.intersection(node.results):
                reached.update(operand for operand in node.operands if operand)
                kept.append(node)
        self.nodes = kept[::-1]
        for values in (self.inputs, self.parameters, self.constants):
            values[:] = [value for value in values if value in reached]

    def write(self, folder):
        """The model and its data."""
        helper, floats, kind = onnx.helper, onnx.TensorProto.FLOAT, KINDS.get(self.kind, onnx.TensorProto.FLOAT)
        os.makedirs(os.path.join(folder, "data"), exist_ok=True)
        tensor, inputs, nodes, functions = helper.make_tensor_value_info, [], [], []
        for value in self.inputs:
            cells = value.cells.numpy()
            cells = cells.astype(numpy.float32) if value.cells.is_floating_point() else cells
            if self.attached and value is self.target:  # The file does not have it.
                numpy.save(os.path.join(folder, "data", "target.npy"), cells)
                continue
            name, inside = value.name, kind if value.cells.is_floating_point() else helper.np_dtype_to_tensor_dtype(cells.dtype)
            if cells.dtype == numpy.int64 and self.draw.random() < 0.2:
                cells = cells.astype(self.draw.choice([numpy.int8, numpy.int16, numpy.int32]))
            elif cells.dtype == numpy.float32 and self.draw.random() < 0.05:
                cells = cells.astype(numpy.float64)
            if inside != helper.np_dtype_to_tensor_dtype(cells.dtype):
                name += "_data"
                nodes.append(helper.make_node("Cast", [name], [value.name], to=inside))
            shape = [*(["batch"] if value.batched else []), *value.shape[int(value.batched):]]
            for axis in range(len(shape)):
                if self.draw.random() < 0.15 and shape[axis] != "batch":
                    symbol = f"{value.name}_{axis}"
                    self.sizes[symbol], shape[axis] = shape[axis], symbol
            inputs.append(tensor(name, helper.np_dtype_to_tensor_dtype(cells.dtype), shape))
            numpy.save(os.path.join(folder, "data", name + ".npy"), cells)
        def stored(value):
            cells = value.cells.detach().numpy()
            return helper.make_tensor(value.name, kind, cells.shape, cells.ravel()) if value.cells.is_floating_point() else \
                onnx.numpy_helper.from_array(cells, value.name)
        # Floats that are constants have nodes of their own: those that are stored beside the nodes are trained.
        beside = [value for value in self.constants if not value.cells.is_floating_point() and self.draw.random() < 0.3]
        nodes += [helper.make_node("Constant", [], [value.name], value=stored(value)) for value in self.constants
                  if value not in beside]
        for node in self.nodes:
            if node.domain == "attached":
                continue
            operands, attributes = node.form or (node.operands[:len(node.operands) - node.inner], node.attributes)
            if node.kind == "Cast" and attributes["to"] == floats:
                attributes = {"to": kind}
            for body in attributes.values():
                for info in [*body.input, *body.output] if isinstance(body, onnx.GraphProto) else []:
                    if info.type.tensor_type.elem_type == floats:
                        info.type.tensor_type.elem_type = kind
            made = helper.make_node(node.kind, [value.name if value else "" for value in operands],
                                    [result.name for result in node.results], domain=node.domain,
                                    name=f"{node.kind}_{node.results[0].name}", **attributes)
            if not node.domain and not node.inner and self.draw.random() < 0.05:
                made = self.in_function(made, functions)
            nodes.append(made)
        end = self.nodes[-1].operands[0] if self.attached else self.loss
        outputs = [tensor(value.name, kind, None if value.batched else []) for value in [end, *self.outputs]]
        initializers = [stored(value) for value in self.parameters + beside]
        if self.draw.random() < 0.1:  # as files of before IR version 4 name them
            inputs += [tensor(each.name, each.data_type, each.dims) for each in initializers]
        graph = helper.make_graph(nodes, "random", inputs, outputs, initializers)
        domains = {"": self.older or self.opset, **{node.domain: 1 for node in self.nodes if node.domain not in ("", "attached")}}
        domains.update({"local": 1} if functions else {})
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in domains.items()], ir_version=10,
                                  functions=functions)
        onnx.save(model, os.path.join(folder, "model.onnx"))

    def in_function(self, node, functions):
        """A call of a function of the model around a node, which may get the node's attributes."""
        helper, name, passed = onnx.helper, f"f{len(functions)}", {}
        body = onnx.NodeProto()
        body.CopyFrom(node)
        if self.draw.random() < 0.5:
            passed = {each.name: helper.get_attribute_value(each) for each in node.attribute}
            for each in body.attribute:
                kind, own = each.type, each.name
                each.Clear()
                each.name, each.type, each.ref_attr_name = own, kind, own
        read = list(dict.fromkeys(each for each in node.input if each))
        functions.append(helper.make_function("local", name, read, list(node.output), [body],
                                              [helper.make_opsetid("", self.older or self.opset)], list(passed)))
        return helper.make_node(name, read, list(node.output), domain="local", name=node.name, **passed)

    def train(self, steps, rate, dtype=torch.float64, rounding=None):
        """PyTorch's losses of some steps of SGD, and the gradients of the first by the name of the parameter. Each result of a
        node but the losses is rounded to the type `rounding`."""
        def typed(cells):
            return cells.to(dtype) if cells.is_floating_point() else cells
        def rounded(cells):
            return cells.to(rounding).to(dtype) if rounding and cells.is_floating_point() and cells.dim() else cells
        fixed = {value: typed(value.cells.detach()) for value in self.inputs + self.constants}
        held = {value: typed(value.cells.detach().clone()).requires_grad_() for value in self.parameters}
        losses, first = [], None
        for _ in range(steps):
            cells = {**fixed, **held}
            for node in self.nodes:
                found = node.compute(*(cells[operand] for operand in node.operands if operand))
                cells.update(zip(node.results, map(rounded, found if len(node.results) > 1 else [found])))
            losses.append(cells[self.loss].item())
            slopes = torch.autograd.grad(cells[self.loss], list(held.values()), allow_unused=True)
            slopes = [torch.zeros_like(p) if slope is None else slope for p, slope in zip(held.values(), slopes)]
            first = first or {value.name: slope.double().numpy() for value, slope in zip(held, slopes)}
            held = {value: (p - rate * slope).detach().requires_grad_() for (value, p), slope in zip(held.items(), slopes)}
        return losses, first

