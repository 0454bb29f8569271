# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of random graphs, each beside its function in PyTorch, and the graph of a seed.

    random_operations.py SEED FOLDER    writes FOLDER/model.onnx and FOLDER/data, and prints the nodes

To add an operation, write a function with `@operation(..)`. The function draws attributes and shapes from the graph and calls
`graph.node` with the name in ONNX, the operands and a function of the operands' cells."""
import math
import sys

import numpy
import torch
import torch.nn.functional as F

import further_operations  # These put their operations into the table.
import layer_operations
import rarer_operations
from random_graphs import MOST_RANK, OPERATIONS, RandomGraph, Unfit, integers, number, operation, rows_of_logits

def build(seed, size=10, often=()):
    """The graph of a seed, with as many operations as `size` says, or fewer if few fit. Those that are named are every second."""
    graph, made = RandomGraph(seed), 0
    named = [each for each in OPERATIONS if each[0].__name__ in often]
    for _ in range(20 * size):
        table = named if named and graph.draw.random() < 0.5 else OPERATIONS
        (function, fits), before = graph.draw.choice(table), len(graph.nodes)
        try:
            results = function(graph, graph.pick(fits))
        except Unfit:
            del graph.nodes[before:]
            continue
        for value in results if isinstance(results, list) else [results]:
            graph.put(value)
        made += 1
        if made == size:
            break
    graph.add_loss()
    return graph


# Elementwise operations.

UNARY = {
    "Abs": torch.abs, "Asinh": torch.asinh, "Atan": torch.atan, "Ceil": torch.ceil, "Celu": F.celu, "Cos": torch.cos, "Elu": F.elu,
    "Erf": torch.erf,
    "Floor": torch.floor, "Gelu": F.gelu, "HardSwish": F.hardswish, "Identity": lambda x: x * 1, "Mish": F.mish, "Neg": torch.neg,
    "Relu": torch.relu, "Round": torch.round, "Selu": F.selu, "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin,
    "Softplus": F.softplus, "Softsign": F.softsign, "Tanh": torch.tanh}
COMPARISONS = {"Greater": torch.gt, "Less": torch.lt, "GreaterOrEqual": torch.ge, "LessOrEqual": torch.le}


@operation(weight=3)
def unary(graph, x):
    kind = graph.draw.choice(list(UNARY))
    return graph.node(kind, [x], UNARY[kind])


@operation()
def rectifier(graph, x):
    kind = graph.draw.randrange(4)
    if kind == 0:
        return graph.node("LeakyRelu", [x], lambda x: F.leaky_relu(x, 0.125), alpha=0.125)
    if kind == 1:
        return graph.node("Shrink", [x], lambda x: F.softshrink(x, 0.375), lambd=0.375, bias=0.375)
    if kind == 2:
        return graph.node("PRelu", [x, graph.parameter_for(x)], lambda x, slope: torch.where(x > 0, x, x * slope))
    low, high = graph.draw.choice([(-0.5, 0.75), (-0.5, None), (None, 0.75)])
    def clip(x, *_):
        x = x if low is None else torch.where(x <= low, low, x)  # The gradient at a bound is 0.
        return x if high is None else torch.where(x >= high, high, x)
    return graph.node("Clip", [x, low and number(graph, low), high and number(graph, high)], clip)


def second(graph, x):
    """Another operand: a parameter, the same value again or one that broadcasts with it."""
    def fits(y):
        try:
            shape = torch.broadcast_shapes(x.cells.shape, y.cells.shape)
        except RuntimeError:
            return False
        def keeps_batch(z):
            return z.rank == len(shape) if z.batched else z.rank < len(shape) or z.shape[0] == 1
        return not (x.batched or y.batched) or keeps_batch(x) and keeps_batch(y) and shape[0] == graph.batch
    form = graph.draw.random()
    return graph.parameter_for(x) if form < 0.3 else x if form < 0.45 else graph.pick(fits)


@operation(weight=5)
def binary(graph, x):
    y = second(graph, x)
    if graph.draw.random() < 0.5:
        x, y = y, x
    kind = graph.draw.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Pow", "Where"])
    if kind in ("Div", "Pow"):  # away from a division by 0, and from powers of numbers below 0
        base = y if kind == "Div" else x
        positive = graph.node("Mul", [base, base], torch.mul)
        positive = graph.node("Add", [positive, number(graph, 0.5)], torch.add)
        return graph.node("Div", [x, positive], torch.div) if kind == "Div" else graph.node("Pow", [positive, y], torch.pow)
    if kind == "Mean":
        return graph.node("Mean", [x, y, x], lambda a, b, c: (a + b + c) / 3)
    if kind == "Where":
        comparison = graph.draw.choice(list(COMPARISONS))
        mask = graph.node(comparison, [x, y], COMPARISONS[comparison])
        if graph.draw.random() < 0.3:
            mask = graph.node("Not", [mask], torch.logical_not)
        return graph.node("Where", [mask, x, graph.node("Neg", [y], torch.neg)], torch.where)
    function = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Max": torch.maximum, "Min": torch.minimum}[kind]
    return graph.node(kind, [x, y], function)


@operation()
def power_or_root(graph, x):
    if graph.draw.random() < 0.5:
        exponent = graph.draw.choice([0.0, 1.0, 2.0, 3.0])
        return graph.node("Pow", [x, number(graph, exponent)], lambda x, _: x ** exponent)
    positive = graph.node("Mul", [x, x], torch.mul)
    positive = graph.node("Sqrt", [graph.node("Add", [positive, number(graph, 0.25)], torch.add)], torch.sqrt)
    kind, function = graph.draw.choice([("Reciprocal", torch.reciprocal), ("Log", torch.log), ("Identity", lambda x: x * 1)])
    return graph.node(kind, [positive], function)


@operation()
def integer_arithmetic(graph, x):
    """A weight for each position, from what integers of the data give."""
    value = graph.ids
    for _ in range(graph.draw.randint(1, 4)):
        kind, by = graph.draw.choice(["Add", "Mul", "Div", "Mod", "Min", "Max", "Neg"]), graph.draw.choice([-3, -2, 2, 3, 5])
        functions = {"Add": torch.add, "Mul": torch.mul, "Div": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
                     "Mod": torch.remainder, "Min": torch.minimum, "Max": torch.maximum}
        if kind == "Neg":
            value = graph.node("Neg", [value], torch.neg)
        else:
            value = graph.node(kind, [value, integers(graph, by)], functions[kind])
    cells = graph.node("Cast", [value], lambda x: x.to(torch.get_default_dtype()), to=1)
    return graph.node("Mul", [cells, graph.parameter([cells.shape[1]], 0.2)], torch.mul)


# Reductions and scans.

@operation(weight=2)
def reduction(graph, x):
    axes = sorted(graph.draw.sample(x.free, graph.draw.randint(1, len(x.free))))
    if graph.draw.random() < 0.1 and x.batched:
        axes = [0]
    keep = 0 if axes != [0] and graph.draw.random() < 0.5 else 1
    functions = {
        "ReduceSum": lambda x, *_: x.sum(axes, bool(keep)), "ReduceMean": lambda x, *_: x.mean(axes, bool(keep)),
        "ReduceMax": lambda x, *_: x.amax(axes, bool(keep)), "ReduceMin": lambda x, *_: x.amin(axes, bool(keep)),
        "ReduceL1": lambda x, *_: x.abs().sum(axes, bool(keep)), "ReduceSumSquare": lambda x, *_: (x * x).sum(axes, bool(keep)),
        "ReduceL2": lambda x, *_: torch.linalg.vector_norm(x, 2, axes, bool(keep)),
        "ReduceLogSumExp": lambda x, *_: torch.logsumexp(x, axes, bool(keep))}
    kind = graph.draw.choice(list(functions))
    result = graph.node(kind, [x, integers(graph, *axes)], functions[kind], batched=x.batched and axes != [0], keepdims=keep)
    if axes == [0] and graph.draw.random() < 0.6:  # Samples meet.
        return graph.node("Sub", [x, result], torch.sub)
    return result


@operation()
def softmax(graph, x):
    axis, written = graph.axis(x)
    kind, function = graph.draw.choice([("Softmax", torch.softmax), ("LogSoftmax", torch.log_softmax)])
    return graph.node(kind, [x], lambda x: function(x, axis), axis=written)


@operation()
def running_sum(graph, x):
    axis, written = graph.axis(x)
    exclusive, reverse = graph.draw.randint(0, 1), graph.draw.randint(0, 1)
    def compute(x, *_):
        x = x.flip(axis) if reverse else x
        total = x.cumsum(axis) - (x if exclusive else 0)
        return total.flip(axis) if reverse else total
    return graph.node("CumSum", [x, graph.constant(numpy.int64(written))], compute, exclusive=exclusive, reverse=reverse)


@operation()
def largest_cells(graph, x):
    axis, written = graph.axis(x, lambda size: size > 1)
    if x.cells.detach().sort(axis)[0].diff(dim=axis).abs().min() < 1e-4:
        raise Unfit  # No order of equal cells is the right one.
    if graph.draw.random() < 0.3:
        index = graph.node("ArgMax", [x], lambda x: x.argmax(axis, keepdim=True), axis=axis, keepdims=1)
        return graph.node("GatherElements", [x, index], lambda x, i: x.gather(axis, i), axis=axis)
    count, largest = graph.draw.randint(1, x.shape[axis]), graph.draw.randint(0, 1)
    values, index = graph.node("TopK", [x, integers(graph, count)], lambda x, _: torch.topk(x, count, axis, bool(largest)), 2,
                               axis=written, largest=largest)
    other = graph.pick(lambda y: y.batched == x.batched and y.shape == x.shape)
    return [values, graph.node("GatherElements", [other, index], lambda x, i: x.gather(axis, i), axis=axis)]


# Shapes, parts and places.

@operation()
def transpose(graph, x):
    order = graph.draw.sample(x.free, len(x.free))
    order = [0] * x.batched + order
    return graph.node("Transpose", [x], lambda x: x.permute(order), perm=order)


@operation()
def reshape(graph, x):
    left, sizes = math.prod(x.shape[int(x.batched):]), []
    while left > 1 and graph.draw.random() < 0.8:
        sizes.append(graph.draw.choice([size for size in range(1, left + 1) if left % size == 0]))
        left //= sizes[-1]
    sizes.append(left)
    batch = x.shape[:int(x.batched)]
    return graph.node("Reshape", [x, integers(graph, *[0] * len(batch), *sizes)], lambda x, *_: x.reshape(batch + sizes))


@operation()
def another_dimension(graph, x):
    axis = graph.draw.randint(int(x.batched), x.rank)
    x = graph.node("Unsqueeze", [x, integers(graph, axis)], lambda x, _: x.unsqueeze(axis))
    if graph.draw.random() < 0.5:
        return x
    shape = [graph.draw.randint(1, 4) if at == axis else size for at, size in enumerate(x.shape)]
    return graph.node("Expand", [x, integers(graph, *shape)], lambda x, _: x.expand(shape))


@operation(fits=lambda x: 1 in x.shape[int(x.batched):])
def one_dimension_less(graph, x):
    axis, written = graph.axis(x, lambda size: size == 1)
    return graph.node("Squeeze", [x, integers(graph, written)], lambda x, _: x.squeeze(axis))


@operation()
def strided_slice(graph, x):
    axis, written = graph.axis(x)
    size, step = x.shape[axis], graph.draw.choice([1, 1, 2, 3, -1, -2])
    start = graph.draw.randint(0, size - 1)
    end = graph.draw.randint(start + 1, size + 2) if step > 0 else graph.draw.randint(-1, start - 1)
    picked = torch.tensor(range(start, min(end, size), step))
    operands = [x] + [integers(graph, each) for each in (start, end if end >= 0 else -size - 1, written, step)]
    return graph.node("Slice", operands, lambda x, *_: x.index_select(axis, picked))


@operation()
def split(graph, x):
    """Parts of a value, and often a sum of these parts in another order with the whole."""
    axis, written = graph.axis(x, lambda size: size > 1)
    size = x.shape[axis]
    first = size // 2 if size % 2 == 0 and graph.draw.random() < 0.5 else graph.draw.randint(1, size - 1)
    sizes = [first, size - first]
    parts = graph.node("Split", [x, integers(graph, *sizes)], lambda x, *_: torch.split(x, sizes, axis), 2, axis=written)
    if graph.draw.random() < 0.5:
        return parts
    kinds = graph.draw.sample(["Tanh", "Sigmoid", "Neg", "Softplus"], 2)
    changed = [graph.node(kind, [each], UNARY[kind]) for kind, each in zip(kinds, parts)]
    joined = graph.node("Concat", changed[::-1], lambda *xs: torch.cat(xs, axis), axis=written)
    return [graph.node("Mul", [joined, x], torch.mul), parts[0]]


@operation()
def concat(graph, x):
    axis, written = graph.axis(x)
    def fits(y):
        same = y.batched == x.batched and y.rank == x.rank
        return same and all(y.shape[at] == x.shape[at] for at in range(x.rank) if at != axis)
    operands = [x, graph.pick(fits), graph.pick(fits)][:graph.draw.randint(2, 3)]
    return graph.node("Concat", operands, lambda *xs: torch.cat(xs, axis), axis=written)


@operation(range(1, 3), batched=False, fits=lambda x: x.shape[0] > 1, weight=4)
def whole_and_in_rows(graph, x):
    """A value without a batch, such as a parameter, read whole and row by row."""
    axis, count = integers(graph, 0), x.shape[0]
    if graph.draw.random() < 0.5:
        rows = graph.node("Split", [x, integers(graph, *[1] * count)], lambda x, _: torch.split(x, 1), count, axis=0)
    else:
        rows = [graph.node("Slice", [x, integers(graph, row), integers(graph, row + 1), axis],
                           lambda x, *_, row=row: x[row:row + 1]) for row in range(count)]
    kinds = [graph.draw.choice(["Tanh", "Sigmoid", "Neg"]) for _ in rows]
    rows = [graph.node(kind, [row], UNARY[kind]) for kind, row in zip(kinds, rows)]
    joined = graph.node("Concat", rows, lambda *xs: torch.cat(xs, 0), axis=0)
    total = graph.node("ReduceSum", [joined, axis], lambda x, _: x.sum([0], True), keepdims=1)
    return graph.node("Mul", [x, total], torch.mul)


@operation()
def pad(graph, x):
    kind, before, after = graph.draw.choice(["constant", "constant", "reflect", "edge", "wrap"]), [0] * x.rank, [0] * x.rank
    for axis in x.free:
        most = x.shape[axis] - 1 if kind == "reflect" else x.shape[axis]
        before[axis], after[axis] = (graph.draw.randint(0, min(2, most)) for _ in range(2))
        if kind == "constant" and x.shape[axis] > 2 and graph.draw.random() < 0.2:
            before[axis] = -1
    def compute(x, *_):
        for axis in range(x.dim()):
            size = x.shape[axis]
            at = torch.arange(-before[axis], size + after[axis])
            if kind == "reflect":
                at = (size - 1 - (size - 1 - at.abs()).abs()) if size > 1 else at
            inside = (at >= 0) & (at < size)
            at = at % size if kind == "wrap" else at.clamp(0, size - 1)
            x = x.index_select(axis, at)
            if kind == "constant":
                x = torch.where(inside.reshape([-1] + [1] * (x.dim() - 1 - axis)), x, 0.5)
        return x
    operands = [x, integers(graph, *before, *after)] + ([number(graph, 0.5)] if kind == "constant" else [])
    return graph.node("Pad", operands, compute, mode=kind)


@operation()
def gather(graph, x):
    axis, written = graph.axis(x)
    size = x.shape[axis]
    if graph.draw.random() < 0.5:
        shape = x.shape
        shape[axis] = graph.draw.randint(1, 4)
        index = graph.constant(graph.numbers.integers(-size, size, shape))
        return graph.node("GatherElements", [x, index], lambda x, i: x.gather(axis, i % size), axis=written, batched=x.batched)
    shape = graph.draw.choice([[], [1], [2], [3], [2, 2]])
    def compute(x, i):
        return x.index_select(axis, i.reshape(-1) % size).reshape([*x.shape[:axis], *shape, *x.shape[axis + 1:]])
    return graph.node("Gather", [x, graph.constant(graph.numbers.integers(-size, size, shape))], compute, axis=written)


@operation()
def rows_by_data(graph, x):
    table = graph.parameter([graph.classes, graph.draw.choice([1, 2, 3, 5])])
    return graph.node("Gather", [table, graph.ids], lambda t, i: t[i], batched=True)


@operation(range(2, MOST_RANK), batched=True)
def scatter(graph, x):
    axis, written = graph.axis(x)
    shape, form = x.shape, graph.draw.choice(["none", "add", "mul", "max", "min"])
    order = graph.numbers.random(shape).argsort(axis)
    shape[axis] = graph.draw.randint(1, shape[axis])
    index = numpy.take(order, range(shape[axis]), axis)
    if form == "add" and graph.draw.random() < 0.5:
        index = graph.numbers.integers(0, x.shape[axis], shape)  # Places occur more than once.
    updates = graph.parameter([1] + shape[1:])
    updates = graph.node("Expand", [updates, integers(graph, *shape)], lambda u, _: u.expand(shape), batched=True)
    def compute(x, i, u):
        if form in ("none", "add"):
            return x.scatter(axis, i, u) if form == "none" else x.scatter_add(axis, i, u)
        return x.scatter_reduce(axis, i, u, {"mul": "prod", "max": "amax", "min": "amin"}[form])
    return graph.node("ScatterElements", [x, graph.constant(index), updates], compute, axis=written, reduction=form)


@operation()
def tile(graph, x):
    axis, _ = graph.axis(x)
    times = [graph.draw.randint(1, 3) if at == axis else 1 for at in range(x.rank)]
    return graph.node("Tile", [x, integers(graph, *times)], lambda x, _: x.repeat(times))


@operation(range(2, MOST_RANK + 1), fits=lambda x: len(x.free) > 1)
def triangle(graph, x):
    upper, diagonal = graph.draw.randint(0, 1), graph.draw.randint(-2, 2)
    return graph.node("Trilu", [x, graph.constant(numpy.int64(diagonal))],
                      lambda x, _: (torch.triu if upper else torch.tril)(x, diagonal), upper=upper)


@operation(range(2, 4), batched=True)
def samples_in_order(graph, x):
    """Samples are joined or turned round: dimension 0 is an axis like others."""
    if graph.draw.random() < 0.5:
        y = graph.pick(lambda y: y.batched and y.shape == x.shape)
        return graph.node("Concat", [x, y], lambda *xs: torch.cat(xs), batched=False, axis=0)
    return graph.node("Slice", [x, *(integers(graph, each) for each in (graph.batch - 1, -100, 0, -1))], lambda x, *_: x.flip(0))


# Products, norms, convolutions and losses.

@operation(range(2, MOST_RANK + 1), weight=2)
def product(graph, x):
    size, width = x.shape[-1], graph.draw.choice([1, 2, 3, 4, 6, 8])
    shape = [size, width]
    if x.rank > 2 and graph.draw.random() < 0.3:
        shape = [1, *(each if graph.draw.random() < 0.6 else 1 for each in x.shape[1:-2]), size, width]
    return graph.node("MatMul", [x, graph.parameter(shape, 1 / math.sqrt(size))], torch.matmul)


@operation([2], batched=True)
def affine(graph, x):
    size, width, turned = x.shape[1], graph.draw.choice([1, 2, 3, 5]), graph.draw.randint(0, 1)
    weight = graph.parameter([width, size] if turned else [size, width], 1 / math.sqrt(size))
    return graph.node("Gemm", [x, weight, graph.parameter([width])],
                      lambda x, w, b: 0.5 * x @ (w.T if turned else w) + 2 * b, transB=turned, alpha=0.5, beta=2.0)


@operation([3], batched=True)
def einsum(graph, x):
    text, shape = graph.draw.choice([("bsw,whd->bhsd", [x.shape[2], 2, 3]), ("bsw,btw->bst", None), ("bsw,s->bw", [x.shape[1]]),
                                     ("bsw,sw->bs", x.shape[1:])])
    other = graph.parameter(shape, 0.5) if shape else x
    return graph.node("Einsum", [x, other], lambda *xs: torch.einsum(text, *xs), equation=text)


@operation([3], batched=True, weight=2)
def attention(graph, x):
    """By one op with fewer heads of keys, or by products around a masked softmax."""
    length, width, head = x.shape[1], x.shape[2], graph.draw.choice([1, 2, 4])
    if graph.draw.random() < 0.5:
        shared, times, causal = graph.draw.choice([1, 2]), graph.draw.choice([1, 2]), graph.draw.randint(0, 1)
        heads = [shared * times, shared, shared]
        operands = [graph.node("MatMul", [x, graph.parameter([width, count * head], 0.7)], torch.matmul) for count in heads]
        def compute(*cells):
            q, k, v = (each.reshape(graph.batch, length, count, head).transpose(1, 2) for each, count in zip(cells, heads))
            k, v = (each.repeat_interleave(times, 1) for each in (k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal)).transpose(1, 2).reshape(graph.batch, length, -1)
        return graph.node("Attention", operands, compute, q_num_heads=heads[0], kv_num_heads=shared, is_causal=causal)
    turned = graph.node("Transpose", [x], lambda x: x.transpose(1, 2), perm=[0, 2, 1])
    scores = graph.node("Mul", [graph.node("MatMul", [x, turned], torch.matmul), number(graph, 0.5)], torch.mul)
    form = graph.draw.randrange(3)
    if form == 0:
        hidden = graph.constant(numpy.triu(numpy.full((length, length), -1e9, numpy.float32), 1))
        scores = graph.node("Add", [scores, hidden], torch.add)
    elif form == 1 and length == graph.ids.shape[1]:  # Some samples may hide all positions.
        hidden = graph.node("Equal", [graph.ids, integers(graph, 0)], torch.eq)
        hidden = graph.node("Unsqueeze", [hidden, integers(graph, 1)], lambda x, _: x.unsqueeze(1))
        scores = graph.node("Where", [hidden, number(graph, -1e4), scores], torch.where)
    return graph.node("MatMul", [graph.node("Softmax", [scores], lambda x: x.softmax(-1), axis=-1), x], torch.matmul)


@operation(range(2, MOST_RANK + 1), batched=True, weight=2)
def norm(graph, x):
    kind, eps = graph.draw.choice(["Layer", "RMS", "Instance", "Group", "Batch"]) + "Normalization", 1e-2
    if kind in ("LayerNormalization", "RMSNormalization"):
        axis, written = graph.axis(x)
        shape = x.shape[axis:]
        if kind == "RMSNormalization":
            return graph.node(kind, [x, graph.parameter(shape)], lambda x, w: F.rms_norm(x, shape, w, eps), axis=written,
                              epsilon=eps)
        return graph.node(kind, [x, graph.parameter(shape), graph.parameter(shape)],
                          lambda x, w, b: F.layer_norm(x, shape, w, b, eps), axis=written, epsilon=eps)
    channels = x.shape[1]
    if graph.batch == 1:
        raise Unfit  # PyTorch refuses one value for a channel.
    scales = [x, graph.parameter([channels]), graph.parameter([channels])]
    if kind == "BatchNormalization":
        graph.normalizes_batch = True
        statistics = [graph.constant(numpy.full(channels, each, numpy.float32)) for each in (0, 1)]
        def compute(x, w, b, mean, variance):
            return F.batch_norm(x, None, None, w, b, True, 0.1, eps), mean, variance  # Nothing reads the running statistics.
        return graph.node(kind, scales + statistics, compute, 3, training_mode=1, epsilon=eps)[0]
    if x.rank < 3:
        raise Unfit
    if kind == "GroupNormalization":
        groups = graph.draw.choice([count for count in range(1, channels + 1) if channels % count == 0])
        return graph.node(kind, scales, lambda x, w, b: F.group_norm(x, groups, w, b, eps), num_groups=groups, epsilon=eps)
    return graph.node(kind, scales, lambda x, w, b: F.group_norm(x, channels, w, b, eps), epsilon=eps)


@operation(range(3, 5), batched=True, weight=2)
def convolution(graph, x):
    sizes, channels = x.shape[2:], x.shape[1]
    groups = graph.draw.choice([count for count in range(1, channels + 1) if channels % count == 0])
    kernel = [graph.draw.randint(1, min(3, size)) for size in sizes]
    strides, pads = ([graph.draw.randint(low, low + 1) for _ in sizes] for low in (1, 0))
    dilations = [graph.draw.randint(1, 2) if 2 * (k - 1) < size else 1 for k, size in zip(kernel, sizes)]
    width = graph.draw.randint(1, 3)
    common = {"group": groups, "strides": strides, "pads": pads + pads, "dilations": dilations}
    bias = graph.parameter([groups * width])
    if graph.draw.random() < 0.7:
        function = F.conv1d if len(sizes) == 1 else F.conv2d
        return graph.node("Conv", [x, graph.parameter([groups * width, channels // groups] + kernel, 0.5), bias],
                          lambda *xs: function(*xs, strides, pads, dilations, groups), **common)
    function = F.conv_transpose1d if len(sizes) == 1 else F.conv_transpose2d
    if any((size - 1) * s - 2 * p + d * (k - 1) < 0 for size, s, p, d, k in zip(sizes, strides, pads, dilations, kernel)):
        raise Unfit
    return graph.node("ConvTranspose", [x, graph.parameter([channels, width] + kernel, 0.5), bias],
                      lambda *xs: function(*xs, strides, pads, 0, groups, dilations), **common)


@operation([4], batched=True)
def pool(graph, x):
    kernel = [graph.draw.randint(1, min(3, size)) for size in x.shape[2:]]
    strides, pads = [graph.draw.randint(1, 3) for _ in kernel], [graph.draw.randint(0, size // 2) for size in kernel]
    ceil, padding = graph.draw.randint(0, 1), graph.draw.randint(0, 1)
    common = {"kernel_shape": kernel, "strides": strides, "pads": pads + pads, "ceil_mode": ceil}
    if graph.draw.random() < 0.5:
        return graph.node("MaxPool", [x], lambda x: F.max_pool2d(x, kernel, strides, pads, ceil_mode=bool(ceil)), **common)
    return graph.node("AveragePool", [x], lambda x: F.avg_pool2d(x, kernel, strides, pads, bool(ceil), bool(padding)),
                      count_include_pad=padding, **common)


@operation([3], batched=True, fits=lambda x: x.shape[1] > 1)
@operation([3], batched=True)
def cross_entropy(graph, x):
    """One more loss: of the labels that are not -1, whole or by the rows."""
    logits, labels = rows_of_logits(graph, x)
    form, operands = graph.draw.choice(["mean", "sum", "none"]), [logits, labels]
    if graph.draw.random() < 0.4:
        operands.append(graph.constant(graph.numbers.random(graph.classes).astype(numpy.float32) + numpy.float32(0.2)))
    def compute(x, labels, weights=None):
        return F.cross_entropy(x, labels, weights, ignore_index=-1, reduction=form)
    loss = graph.node("SoftmaxCrossEntropyLoss", operands, compute, batched=False, reduction=form, ignore_index=-1)
    if form != "none":
        graph.losses.append(loss)
        return []
    shape = graph.labels.shape
    return graph.node("Reshape", [loss, integers(graph, -1, *shape[1:])], lambda x, _: x.reshape(shape), batched=True)


def main():
    graph = build(int(sys.argv[1]))
    graph.write(sys.argv[2])
    for node in graph.nodes:
        read = ", ".join(f"{value.name}{value.shape}" if value else "-" for value in node.operands)
        print(f"{', '.join(value.name for value in node.results)} = {node.kind}({read}) {node.attributes or ''}")


if __name__ == "__main__":
    main()
