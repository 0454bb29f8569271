# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of random graphs: control flow, constants that a graph computes, gradients of the user's own, older operators."""
import math

import numpy
import onnx
import torch
import torch.nn.functional as F

from random_graphs import MOST_RANK, Unfit, integers, number, operation

FLOAT = onnx.TensorProto.FLOAT


def body_of(name, nodes, inputs, outputs):
    """A graph inside of an attribute. The inputs and outputs are names of floats, or pairs of a name and a type for scalars."""
    def info(each):
        name, kind, shape = (each, FLOAT, None) if isinstance(each, str) else (*each, [])
        return onnx.helper.make_tensor_value_info(name, kind, shape)
    nodes = [onnx.helper.make_node(*each[:3], **(each[3] if len(each) > 3 else {})) for each in nodes]
    return onnx.helper.make_graph(nodes, name, [info(each) for each in inputs], [info(each) for each in outputs])


# Control flow.

@operation([3], batched=True, weight=2)
def rarer_scan(graph, x):
    """Two states and two sequences, in either direction, over positions."""
    width, back, turned = x.shape[2], graph.draw.randint(0, 1), graph.draw.randint(0, 1)
    other = graph.pick(lambda y: y.batched and y.rank == 3 and y.shape[1] == x.shape[1])
    w = graph.parameter([width, width], 0.4)
    starts = [graph.node("ReduceMean", [x, integers(graph, 1)], lambda x, _: x.mean(1), keepdims=0),
              graph.node("ReduceMax", [other, integers(graph, 1)], lambda x, _: x.amax(1), keepdims=0)]
    if graph.older and graph.older < 18:
        raise Unfit  # The axes of the mean are an operand.
    body = body_of("body", [("MatMul", ["s", w.name], ["sw"]), ("Add", ["sw", "x_t"], ["sum"]), ("Tanh", ["sum"], ["s_out"]),
                            ("Mul", ["c", "y_t"], ["cy"]), ("Sigmoid", ["cy"], ["c_out"]),
                            ("ReduceMean", ["s_out", "one"], ["m"], {"keepdims": 1}), ("Mul", ["m", "c_out"], ["z_t"])],
                   ["s", "c", "x_t", "y_t"], ["s_out", "c_out", "z_t"])
    one = onnx.numpy_helper.from_array(numpy.array([1]), "one")
    body.node.insert(0, onnx.helper.make_node("Constant", [], ["one"], value=one))
    def compute(s, c, x, y, w):
        places, found = range(x.shape[1]), []
        for t in reversed(places) if back else places:
            s = torch.tanh(s @ w + x[:, t])
            c = torch.sigmoid(c * y[:, t])
            found.append(s.mean(1, True) * c)
        return s, c, torch.stack(found[::-1] if turned else found, 1)
    return graph.node("Scan", [*starts, x, other, w], compute, 3, inner=1, body=body, num_scan_inputs=2, scan_input_axes=[1, 1],
                      scan_input_directions=[back, back], scan_output_axes=[1], scan_output_directions=[turned])


@operation(range(2, 4), batched=True, weight=2)
def rarer_loop(graph, x):
    """A Loop that ends by its condition or its count, counts its steps, and keeps what each makes."""
    make, count, bound = onnx.helper, graph.draw.randint(1, 3), graph.draw.randint(1, 4)
    w, integer, boolean = graph.parameter([x.shape[-1]]), onnx.TensorProto.INT64, onnx.TensorProto.BOOL
    body = body_of("body", [("Constant", [], ["two"], {"value": make.make_tensor("two", integer, [], [bound])}),
                            ("Add", ["i", "one"], ["next"]), ("Less", ["next", "two"], ["goes"]),
                            ("Cast", ["next"], ["step"], {"to": FLOAT}), ("Mul", ["v", w.name], ["vw"]),
                            ("Div", ["vw", "step"], ["part"]), ("Tanh", ["part"], ["v_out"]), ("Neg", ["v_out"], ["kept"])],
                   [("i", integer), ("go", boolean), "v"], [("goes", boolean), "v_out", "kept"])
    body.node.insert(0, make.make_node("Constant", [], ["one"], value=make.make_tensor("one", integer, [], [1])))
    steps = min(count, bound)
    def compute(_, v, w):
        found = []
        for step in range(1, steps + 1):
            v = torch.tanh(v * w / step)
            found.append(-v)
        return v, torch.stack(found)
    if graph.kind != "float32":
        raise Unfit
    last, all_steps = graph.node("Loop", [graph.constant(numpy.int64(count)), None, x, w], compute, 2, batched=x.batched, inner=1,
                                 body=body)
    all_steps.batched = False
    order = [1, 0, *range(2, all_steps.rank)]
    return [last, graph.node("Transpose", [all_steps], lambda v: v.permute(order), batched=True, perm=order)]


# Constants that the graph computes, and functions without a gradient.

@operation()
def computed_constant(graph, x):
    """A factor for each cell of the last dimension, from operators of constants alone."""
    size, form = x.shape[-1], graph.draw.randrange(6)
    if form == 0:
        table = graph.node("EyeLike", [graph.constant(numpy.zeros([size, size], numpy.float32))], lambda z: torch.eye(size), k=0,
                           dtype=1) if graph.kind == "float32" else graph.constant(numpy.eye(size, dtype=numpy.float32))
        return graph.node("MatMul", [x, table], lambda x, t: x @ t.to(x.dtype))
    if form == 1:
        kind, function = graph.draw.choice([("HannWindow", torch.hann_window), ("BlackmanWindow", torch.blackman_window)])
        if size < 2 or graph.kind != "float32":
            raise Unfit
        window = graph.node(kind, [graph.constant(numpy.int64(size))],
                            lambda _: function(size, periodic=True, dtype=torch.double), periodic=1)
        return graph.node("Mul", [x, window], lambda x, w: x * w.to(x.dtype))
    if form == 2:
        shape = graph.node("Shape", [x], lambda x: torch.tensor(x.shape), batched=False)
        filled = graph.node("ConstantOfShape", [shape], lambda s: torch.full(tuple(s.tolist()), 1.5), batched=x.batched,
                            value=onnx.helper.make_tensor("v", FLOAT, [1], [1.5]))
        if graph.kind != "float32":
            raise Unfit
        return graph.node("Mul", [x, filled], lambda x, f: x * f.to(x.dtype))
    if form == 3:
        cells = graph.node("Size", [x], lambda x: torch.tensor(x.numel()), batched=False)
        cells = graph.node("Cast", [cells], lambda n: n.double(), batched=False, to=FLOAT)
        return graph.node("Div", [x, cells], lambda x, n: x / n.to(x.dtype))
    if form == 4:
        places = graph.node("Range", [number(graph, each) for each in (0.5, 0.5 + size / 4, 0.25)],
                            lambda *_: torch.arange(size) * 0.25 + 0.5)
        if graph.kind != "float32":
            raise Unfit
        return graph.node("Mul", [x, places], lambda x, p: x * p.to(x.dtype))
    mask = graph.constant(graph.numbers.random(size) < 0.7)
    where = graph.node("NonZero", [mask], lambda m: m.nonzero().T)
    if where.shape[1] < 1:
        raise Unfit
    where = graph.node("Squeeze", [where, integers(graph, 0)], lambda w, _: w.squeeze(0))
    return graph.node("Gather", [x, where], lambda x, w: x.index_select(x.dim() - 1, w), axis=x.rank - 1)


@operation()
def without_gradient(graph, x):
    """Factors that jump, and the remainder of floats."""
    form = graph.draw.randrange(5)
    if form == 0:
        if x.shape[-1] < 2:
            raise Unfit
        hard = graph.node("Hardmax", [x], lambda x: F.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype), axis=-1)
        return graph.node("Mul", [x, hard], torch.mul)
    if form == 1:
        return graph.node("Mod", [x, number(graph, 0.75)], torch.fmod, fmod=1)
    if form == 2:
        flags = graph.node(graph.draw.choice(["IsNaN", "IsInf"]), [x], lambda x: torch.zeros_like(x, dtype=torch.bool))
        return graph.node("Where", [flags, graph.node("Neg", [x], torch.neg), x], torch.where)
    if form == 3:
        axis, written = graph.axis(x, lambda size: size > 1)
        index = graph.node("ArgMin", [x], lambda x: x.argmin(axis, keepdim=True), axis=written, keepdims=1)
        return graph.node("GatherElements", [x, index], lambda x, i: x.gather(axis, i), axis=axis)
    return graph.node("Dropout", [x, number(graph, 0.0), graph.constant(numpy.bool_(True))], lambda x, *_: x * 1)


@operation(range(2, MOST_RANK + 1), batched=True)
def own_gradient(graph, x):
    """The value of a step, with the gradient of a line."""
    step = graph.node("Sign", [x], torch.sign)
    line = graph.node("Clip", [x, number(graph, -1.0), number(graph, 1.0)],
                      lambda x, *_: torch.where((x > -1) & (x < 1), x, x.detach().clamp(-1, 1)))
    return graph.node("ReplaceGradient", [step, line], lambda v, p: p + (v - p).detach(), domain="dtcc")


@operation([4], batched=True)
def regions(graph, x):
    """Averages of regions that are known."""
    if graph.older and graph.older < 16:
        raise Unfit  # Places were rounded otherwise.
    count, sizes = graph.draw.randint(1, 3), [graph.draw.randint(1, 3), graph.draw.randint(1, 3)]
    height, width = x.shape[2:]
    low = graph.numbers.random([graph.batch * count, 2]) * 0.4
    high = low + 0.3 + graph.numbers.random(low.shape) * 0.3
    boxes = numpy.concatenate([low, high], 1) * [width, height, width, height]
    batch = numpy.arange(graph.batch * count) // count
    def compute(x, boxes, index):
        found = []
        for box, at in zip(boxes, index):
            x0, y0, x1, y1 = (box - 0.5).tolist()
            steps = [[(i + (j + 0.5) / 2) / n for i in range(n) for j in range(2)] for n in sizes]
            ys = torch.tensor([y0 + s * (y1 - y0) for s in steps[0]], dtype=x.dtype).clamp(0, height - 1)
            xs = torch.tensor([x0 + s * (x1 - x0) for s in steps[1]], dtype=x.dtype).clamp(0, width - 1)
            def weights(places, size):
                return (1 - (places[:, None] - torch.arange(size)).abs()).clamp(min=0)
            cells = weights(ys, height).to(x.dtype) @ x[at] @ weights(xs, width).to(x.dtype).T
            found.append(F.avg_pool2d(cells, 2))
        return torch.stack(found)
    pooled = graph.node("RoiAlign", [x, graph.constant(boxes.astype(numpy.float32)), graph.constant(batch)], compute, batched=False,
                        output_height=sizes[0], output_width=sizes[1], sampling_ratio=2, spatial_scale=1.0)
    return graph.node("Reshape", [pooled, integers(graph, graph.batch, count, x.shape[1], *sizes)],
                      lambda p, _: p.reshape(graph.batch, count, x.shape[1], *sizes), batched=True)


# What older sets alone have.

@operation([3, 4], batched=True, weight=3)
def enlarged(graph, x):
    """Upsample, and Resize as it was in set 10."""
    if graph.older not in (9, 10):
        raise Unfit
    factors = [1.0, 1.0] + [graph.draw.choice([1.0, 2.0, 3.0, 1.5]) for _ in x.shape[2:]]
    sizes, mode = [math.floor(size * factor) for size, factor in zip(x.shape, factors)], graph.draw.choice(["nearest", "linear"])
    def compute(x, _):
        for axis in range(2, x.dim()):
            at = torch.arange(sizes[axis], dtype=torch.double) / factors[axis]
            low = at.floor()
            share = torch.zeros_like(at) if mode == "nearest" else at - low
            first, second = (x.index_select(axis, (low + more).long().clamp(max=x.shape[axis] - 1)) for more in (0, 1))
            share = share.to(x.dtype).reshape([-1] + [1] * (x.dim() - 1 - axis))
            x = first * (1 - share) + second * share
        return x
    return graph.node("Upsample" if graph.older == 9 else "Resize", [x, graph.constant(numpy.float32(factors))], compute, mode=mode)


@operation(range(2, MOST_RANK), batched=True, weight=2)
def scattered_as_before(graph, x):
    if graph.older not in (9, 10):
        raise Unfit
    axis, written = graph.axis(x)
    index = numpy.take(graph.numbers.random(x.shape).argsort(axis), range(graph.draw.randint(1, x.shape[axis])), axis)
    updates = graph.parameter([1, *index.shape[1:]])
    updates = graph.node("Expand", [updates, integers(graph, *index.shape)], lambda u, _: u.expand(index.shape), batched=True)
    return graph.node("Scatter", [x, graph.constant(index), updates], lambda x, i, u: x.scatter(axis, i, u), axis=written)


@operation(range(1, 4), weight=2)
def data_without_samples(graph, x):
    """A table of the data, the same rows for all samples."""
    width = x.shape[-1]
    table = graph.table
    mixed = graph.node("MatMul", [table, graph.parameter([table.shape[1], width], 0.5)], torch.matmul)
    if x.rank == 1 or not x.batched:
        mean = graph.node("ReduceMean", [mixed, integers(graph, 0)], lambda m, _: m.mean(0), keepdims=0)
        return graph.node("Mul", [x, mean], torch.mul)
    scores = graph.node("MatMul", [x, graph.node("Transpose", [mixed], lambda m: m.T, perm=[1, 0])], torch.matmul)
    scores = graph.node("Softmax", [scores], lambda s: s.softmax(-1), axis=-1)
    return graph.node("MatMul", [scores, mixed], torch.matmul)
