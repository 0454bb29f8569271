# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of random graphs that are layers: experts, recurrence, loops, images, and rarer functions."""
import math

import numpy
import onnx
import torch
import torch.nn.functional as F

from random_graphs import MOST_RANK, Unfit, integers, number, operation

FLOAT = onnx.TensorProto.FLOAT


# Functions of cells.

BOUNDED = {"Acos": torch.acos, "Asin": torch.asin, "Atanh": torch.atanh, "Cosh": torch.cosh, "Exp": torch.exp, "Sinh": torch.sinh,
           "Tan": torch.tan, "Acosh": torch.acosh}


@operation()
def bounded_function(graph, x):
    """A function that has values, or is small, in a part of the numbers alone."""
    kind = graph.draw.choice(list(BOUNDED))
    x = graph.node("Mul", [graph.node("Tanh", [x], torch.tanh), number(graph, 0.75)], torch.mul)
    if kind == "Acosh":
        x = graph.node("Add", [x, number(graph, 2.5)], torch.add)
    return graph.node(kind, [x], BOUNDED[kind])


@operation()
def rarer_rectifier(graph, x):
    kind = graph.draw.randrange(4)
    if kind == 0:
        return graph.node("HardSigmoid", [x], lambda x: (x * 0.25 + 0.5).clamp(0, 1), alpha=0.25, beta=0.5)
    if kind == 1:
        return graph.node("ThresholdedRelu", [x], lambda x: torch.where(x > 0.375, x, torch.zeros_like(x)), alpha=0.375)
    if kind == 2:
        graph.opset = max(graph.opset, 24)
        return graph.node("Swish", [x], lambda x: x * torch.sigmoid(1.5 * x), alpha=1.5)
    return graph.node("Gelu", [x], lambda x: F.gelu(x, approximate="tanh"), approximate="tanh")


@operation(range(1, 3), batched=True)
def logic(graph, x):
    """Cells of a value, or others, by what booleans and integers of the data say."""
    masks = [graph.mask, graph.node("Greater", [graph.ids, integers(graph, 1)], torch.gt),
             graph.node("Equal", [graph.labels, integers(graph, -1)], torch.eq)]
    mask = masks[graph.draw.randrange(3)]
    for _ in range(graph.draw.randint(1, 3)):
        kind = graph.draw.choice(["And", "Or", "Xor", "Not", "Bitwise"])
        if kind == "Not":
            mask = graph.node("Not", [mask], torch.logical_not)
        elif kind == "Bitwise":
            name, function = graph.draw.choice([("BitwiseAnd", torch.bitwise_and), ("BitwiseOr", torch.bitwise_or),
                                                ("BitwiseXor", torch.bitwise_xor)])
            bits = graph.node(name, [graph.ids, integers(graph, graph.draw.randint(1, 6))], function)
            mask = graph.node("And", [mask, graph.node("Cast", [bits], lambda x: x.bool(), to=onnx.TensorProto.BOOL)],
                              torch.logical_and)
        else:
            function = {"And": torch.logical_and, "Or": torch.logical_or, "Xor": torch.logical_xor}[kind]
            mask = graph.node(kind, [mask, graph.draw.choice(masks)], function)
    size = graph.ids.shape[1]
    if x.shape[1:] == [size]:
        return graph.node("Where", [mask, x, graph.parameter([size])], torch.where)
    cells = graph.node("Cast", [mask], lambda x: x.to(torch.get_default_dtype()), to=FLOAT)
    return graph.node("Mul", [cells, graph.parameter([size])], torch.mul)


@operation(range(2, MOST_RANK + 1), batched=True)
def masked_mean(graph, x):
    """A mean over the positions that the data mark, by the count of the sample or of the batch."""
    if x.shape[1] != graph.mask.shape[1]:
        raise Unfit
    mask = graph.node("Cast", [graph.mask], lambda x: x.to(torch.get_default_dtype()), to=FLOAT)
    wide = graph.node("Reshape", [mask, integers(graph, 0, 0, *[1] * (x.rank - 2))],
                      lambda m, _: m.reshape(list(m.shape) + [1] * (x.rank - 2)))
    kept = graph.node("Mul", [x, wide], torch.mul)
    total = graph.node("ReduceSum", [kept, integers(graph, 1)], lambda x, _: x.sum([1]), keepdims=0)
    if graph.draw.random() < 0.5:
        count = graph.node("ReduceSum", [mask], lambda m: m.sum(), batched=False, keepdims=0)
    else:
        count = graph.node("ReduceSum", [wide, integers(graph, 1)], lambda m, _: m.sum([1]), keepdims=0)
    return graph.node("Div", [total, graph.node("Add", [count, number(graph, 0.5)], torch.add)], torch.div)


@operation(range(2, MOST_RANK + 1), batched=True)
def positions_below_length(graph, x):
    """What lies before the length of a sample, by a comparison with a range."""
    size = x.shape[1]
    places = graph.node("Range", [graph.constant(numpy.int64(each)) for each in (0, size, 1)], lambda *_: torch.arange(size))
    lengths = graph.node("Cast", [graph.lengths], lambda x: x.long(), to=onnx.TensorProto.INT64)
    lengths = graph.node("Unsqueeze", [lengths, integers(graph, 1)], lambda x, _: x.unsqueeze(1))
    inside = graph.node("Less", [places, lengths], torch.lt, batched=True)
    if x.rank > 2:
        inside = graph.node("Unsqueeze", [inside, integers(graph, *range(2, x.rank))],
                            lambda m, *_: m.reshape(list(m.shape) + [1] * (x.rank - 2)))
    return graph.node("Where", [inside, x, number(graph, graph.draw.choice([0.0, -1.0]))], torch.where)


@operation(weight=2)
def stopped(graph, x):
    """A value whose gradient ends, beside its own."""
    fixed = graph.node("StopGradient", [x], lambda x: x.detach(), domain="dtcc")
    return graph.node("Mul", [x, fixed], torch.mul) if graph.draw.random() < 0.5 else graph.node(
        "Sub", [x, graph.node("Tanh", [fixed], torch.tanh)], torch.sub)


# Reductions and norms.

@operation()
def rarer_reduction(graph, x):
    axis, _ = graph.axis(x)
    keep = graph.draw.randint(0, 1)
    if graph.draw.random() < 0.5:
        return graph.node("ReduceProd", [x, integers(graph, axis)], lambda x, _: x.prod(axis, bool(keep)), keepdims=keep)
    x = graph.node("Add", [graph.node("Mul", [x, x], torch.mul), number(graph, 0.5)], torch.add)
    return graph.node("ReduceLogSum", [x, integers(graph, axis)], lambda x, _: x.sum(axis, bool(keep)).log(), keepdims=keep)


@operation()
def running_product(graph, x):
    axis, written = graph.axis(x)
    graph.opset = max(graph.opset, 26)
    x = graph.node("Tanh", [x], torch.tanh)
    x = graph.node("Add", [x, number(graph, 1.25)], torch.add)
    exclusive, reverse = graph.draw.randint(0, 1), graph.draw.randint(0, 1)
    def compute(x, *_):
        x = x.flip(axis) if reverse else x
        if exclusive:
            x = torch.cat([torch.ones_like(x.narrow(axis, 0, 1)), x.narrow(axis, 0, x.shape[axis] - 1)], axis)
        x = x.cumprod(axis)
        return x.flip(axis) if reverse else x
    return graph.node("CumProd", [x, graph.constant(numpy.int64(written))], compute, exclusive=exclusive, reverse=reverse)


@operation(range(2, MOST_RANK + 1), batched=True)
def rarer_norm(graph, x):
    kind = graph.draw.randrange(4)
    if kind == 0:
        axis, written = graph.axis(x)
        p = graph.draw.choice([1, 2])
        x = graph.node("Add", [graph.node("Mul", [x, x], torch.mul), number(graph, 0.25)], torch.add)
        return graph.node("LpNormalization", [x], lambda x: F.normalize(x, p, axis), axis=written, p=p)
    if kind == 1:
        size = graph.draw.choice([1, 2, 3])
        def compute(x):
            around = F.pad((x * x).unsqueeze(1).flatten(3) if x.dim() > 2 else (x * x).reshape(x.shape[0], 1, -1, 1),
                           [0, 0, (size - 1) // 2, size // 2])
            total = around.unfold(2, size, 1).sum(-1)
            return x / (1.5 + 0.5 / size * total.reshape(x.shape)) ** 0.75
        if x.rank < 3:
            raise Unfit
        return graph.node("LRN", [x], compute, size=size, alpha=0.5, beta=0.75, bias=1.5)
    if kind == 2 and x.rank > 2:
        axes = graph.draw.choice([list(range(2, x.rank)), [x.rank - 1]])
        x = graph.node("Add", [x, graph.parameter_for(x)], torch.add)
        def compute(x):
            mean = x.mean(axes, True)
            return (x - mean) / ((x * x).mean(axes, True) - mean * mean).clamp(min=0).sqrt().add(1e-9)
        if math.prod(x.shape[axis] for axis in axes) < 3 or x.cells.detach().std(axes).min() < 0.1:
            raise Unfit
        return graph.node("MeanVarianceNormalization", [x], compute, axes=axes)
    axis = x.rank - 1
    return graph.node("SimplifiedLayerNormalization", [x, graph.parameter([x.shape[-1]])],
                      lambda x, w: F.rms_norm(x, [x.shape[-1]], w, 1e-2), axis=-1, epsilon=1e-2, stash_type=1)


# Places.

@operation(range(2, 5), batched=True)
def nd_rows(graph, x):
    """GatherND and ScatterND along the first dimension behind the batch."""
    size, rest = x.shape[1], x.shape[2:]
    if graph.draw.random() < 0.5:
        count = graph.draw.randint(1, 4)
        index = graph.numbers.integers(-size, size, [graph.batch, count, 1])
        def compute(x, i):
            i = (i % size).reshape(list(i.shape[:2]) + [1] * len(rest)).expand(list(i.shape[:2]) + rest)
            return x.gather(1, i)
        index = graph.node("Expand", [graph.constant(index[:1]), integers(graph, graph.batch, 1, 1)],
                           lambda i, _: i.expand(graph.batch, -1, -1), batched=True)
        return graph.node("GatherND", [x, index], compute, batch_dims=1)
    turned = graph.node("Transpose", [x], lambda x: x.transpose(0, 1), batched=False, perm=[1, 0, *range(2, x.rank)])
    rows = graph.numbers.permutation(size)[:graph.draw.randint(1, size)]
    form = graph.draw.choice(["none", "add", "max", "mul"])
    updates = graph.parameter([len(rows), 1] + rest)
    updates = graph.node("Expand", [updates, integers(graph, len(rows), graph.batch, *rest)],
                         lambda u, _: u.expand([len(rows), graph.batch] + rest), batched=False)
    def compute(x, i, u):
        i = i.reshape(-1)
        old = x.index_select(0, i)
        new = {"none": u, "add": old + u, "max": torch.maximum(old, u), "mul": old * u}[form]
        return x.index_copy(0, i, new)
    places = graph.constant(rows.reshape(-1, 1))
    changed = graph.node("ScatterND", [turned, places, updates], compute, batched=False, reduction=form)
    return graph.node("Transpose", [changed], lambda x: x.transpose(0, 1), batched=True, perm=[1, 0, *range(2, x.rank)])


@operation([3, 4], batched=True)
def one_hot_rows(graph, x):
    axis = graph.draw.choice([-1, 1])
    hot = graph.node("OneHot", [graph.ids, graph.constant(numpy.int64(graph.classes)), graph.constant(numpy.float32([0.25, 1.5]))],
                     lambda i, _, v: (F.one_hot(i, graph.classes) * (v[1] - v[0]) + v[0]).movedim(-1, axis),
                     batched=True, axis=axis)
    width = graph.classes if axis == -1 else graph.ids.shape[1]
    return graph.node("MatMul", [hot, graph.parameter([width, graph.draw.choice([1, 2, 3])], 0.5)], torch.matmul)


@operation([2, 3, 4], batched=True, fits=lambda x: x.shape[1] > 1)
def reversed_sequence(graph, x):
    lengths = graph.constant(graph.numbers.integers(1, x.shape[1] + 1, [1]).repeat(graph.batch))
    if x.shape[1] >= graph.ids.shape[1]:
        lengths = graph.node("Cast", [graph.lengths], lambda n: n.long(), to=onnx.TensorProto.INT64)
    def compute(x, n):
        place = torch.arange(x.shape[1]).expand(x.shape[0], -1)
        place = torch.where(place < n[:, None], n[:, None] - 1 - place, place)
        return x.gather(1, place.reshape(list(place.shape) + [1] * (x.dim() - 2)).expand_as(x))
    return graph.node("ReverseSequence", [x, lengths], compute, batch_axis=0, time_axis=1)


@operation()
def compressed(graph, x):
    axis, written = graph.axis(x)
    kept = graph.numbers.random(x.shape[axis]) < 0.6
    kept[graph.draw.randrange(len(kept))] = True
    picked = torch.tensor(numpy.flatnonzero(kept))
    return graph.node("Compress", [x, graph.constant(kept)], lambda x, _: x.index_select(axis, picked), axis=written)


@operation(range(2, MOST_RANK + 1), batched=True)
def flattened(graph, x):
    return graph.node("Flatten", [x], lambda x: x.flatten(1), axis=1)


@operation(range(2, MOST_RANK + 1), batched=True)
def center(graph, x):
    axis, written = graph.axis(x)
    size, wanted = x.shape[axis], graph.draw.randint(1, x.shape[axis] + 3)
    def compute(x, _):
        if wanted <= size:
            return x.narrow(axis, (size - wanted) // 2, wanted)
        before = (wanted - size) // 2
        pads = [0, 0] * (x.dim() - 1 - axis) + [before, wanted - size - before]
        return F.pad(x, pads)
    return graph.node("CenterCropPad", [x, integers(graph, wanted)], compute, axes=[written])


# Images.

@operation([4], batched=True)
def space_and_depth(graph, x):
    batch, channels, height, width = x.shape
    if height % 2 == 0 and width % 2 == 0 and graph.draw.random() < 0.6:
        return graph.node("SpaceToDepth", [x], lambda x: x.reshape(-1, channels, height // 2, 2, width // 2, 2)
                          .permute(0, 3, 5, 1, 2, 4).reshape(-1, channels * 4, height // 2, width // 2), blocksize=2)
    if channels % 4:
        raise Unfit
    mode = graph.draw.choice(["DCR", "CRD"])
    def compute(x):
        if mode == "CRD":
            return F.pixel_shuffle(x, 2)
        x = x.reshape(-1, 2, 2, channels // 4, height, width).permute(0, 3, 4, 1, 5, 2)
        return x.reshape(-1, channels // 4, height * 2, width * 2)
    return graph.node("DepthToSpace", [x], compute, blocksize=2, mode=mode)


@operation([3, 4], batched=True)
def whole_pool(graph, x):
    axes = list(range(2, x.rank))
    kind = graph.draw.choice(["GlobalAveragePool", "GlobalMaxPool", "LpPool"])
    if kind == "GlobalAveragePool":
        return graph.node(kind, [x], lambda x: x.mean(axes, True))
    if kind == "GlobalMaxPool":
        return graph.node(kind, [x], lambda x: x.amax(axes, True))
    kernel = [graph.draw.randint(1, min(2, x.shape[axis])) for axis in axes]
    x = graph.node("Add", [graph.node("Mul", [x, x], torch.mul), number(graph, 0.25)], torch.add)
    function = F.avg_pool1d if len(axes) == 1 else F.avg_pool2d
    return graph.node("LpPool", [x], lambda x: (function(x * x, kernel, 1) * math.prod(kernel)).sqrt(), kernel_shape=kernel, p=2)


@operation([3, 4], batched=True)
def resized(graph, x):
    sizes = [graph.draw.randint(1, 2 * size) for size in x.shape[2:]]
    mode = graph.draw.choice(["nearest", "linear", "cubic"] if x.rank == 4 else ["nearest", "linear"])
    operands = [x, None, None, integers(graph, *x.shape[:1], x.shape[1], *sizes)]
    if mode == "nearest":
        operands[3] = integers(graph, graph.batch, x.shape[1], *sizes)
        return graph.node("Resize", operands, lambda x, _: F.interpolate(x, sizes, mode="nearest"), mode="nearest",
                          coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    torch_mode = {"linear": "linear" if x.rank == 3 else "bilinear", "cubic": "bicubic"}[mode]
    align = graph.draw.randint(0, 1)
    if align and 1 in sizes:
        raise Unfit
    how = "align_corners" if align else "half_pixel"
    return graph.node("Resize", operands, lambda x, _: F.interpolate(x, sizes, mode=torch_mode, align_corners=bool(align)),
                      mode=mode, coordinate_transformation_mode=how, cubic_coeff_a=-0.75)


@operation([4], batched=True)
def grid_sample(graph, x):
    sizes = [graph.draw.randint(1, 4), graph.draw.randint(1, 4)]
    grid = graph.node("Tanh", [graph.parameter([1, *sizes, 2], 0.7)], torch.tanh)
    grid = graph.node("Expand", [grid, integers(graph, graph.batch, 1, 1, 1)], lambda g, _: g.expand(graph.batch, -1, -1, -1),
                      batched=True)
    padding, align = graph.draw.choice(["zeros", "border", "reflection"]), graph.draw.randint(0, 1)
    if min(x.shape[2:]) < 2:
        raise Unfit
    return graph.node("GridSample", [x, grid], lambda x, g: F.grid_sample(x, g, "bilinear", padding, bool(align)), mode="linear",
                      padding_mode=padding, align_corners=align)


@operation([5], batched=True, weight=2)
def volume(graph, x):
    sizes, channels, width = x.shape[2:], x.shape[1], graph.draw.randint(1, 3)
    kernel = [graph.draw.randint(1, min(2, size)) for size in sizes]
    if graph.draw.random() < 0.4:
        return graph.node("MaxPool", [x], lambda x: F.max_pool3d(x, kernel, 1), kernel_shape=kernel)
    return graph.node("Conv", [x, graph.parameter([width, channels] + kernel, 0.5)], F.conv3d)


# Layers with states and loops.

def recurrence_step(kind, hidden, reset, activation=torch.tanh):
    """The new states of a step of a recurrent layer, whose gates are in the order of ONNX. `activation` is that of an RNN."""
    def step(cells, h, c, w, r, wb, rb):
        first, second = cells @ w.T + wb, h @ r.T + rb
        if kind == "RNN":
            return activation(first + second), c
        first, second = first.split(hidden, 1), second.split(hidden, 1)
        if kind == "GRU":  # z, r, h
            z, keep = torch.sigmoid(first[0] + second[0]), torch.sigmoid(first[1] + second[1])
            other = second[2] * keep if reset else (keep * h) @ r[2 * hidden:].T + rb[2 * hidden:]
            return (1 - z) * torch.tanh(first[2] + other) + z * h, c
        i, o, f, new = (a + b for a, b in zip(first, second))  # i, o, f, c
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(new)
        return torch.sigmoid(o) * torch.tanh(c), c
    return step


@operation([3], batched=True, weight=3)
def recurrent(graph, x):
    """An RNN, GRU or LSTM, in one direction or both, with its weights in the order of ONNX."""
    kind, hidden = graph.draw.choice(["RNN", "GRU", "LSTM"]), graph.draw.choice([1, 2, 3])
    direction = graph.draw.choice(["forward", "reverse", "bidirectional"])
    count, gates, width = 2 if direction == "bidirectional" else 1, {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], x.shape[2]
    reset = graph.draw.randint(0, 1)
    x = graph.node("Transpose", [x], lambda x: x.transpose(0, 1), batched=False, perm=[1, 0, 2])
    w, r = graph.parameter([count, gates * hidden, width], 0.5), graph.parameter([count, gates * hidden, hidden], 0.5)
    b = graph.parameter([count, 2 * gates * hidden], 0.5)
    start = graph.node("Expand", [graph.parameter([count, 1, hidden]), integers(graph, count, graph.batch, hidden)],
                       lambda h, _: h.expand(count, graph.batch, hidden), batched=False)
    step = recurrence_step(kind, hidden, reset)
    def compute(x, w, r, b, start):
        found = []
        for number_of in range(count):
            h, c, steps = start[number_of], torch.zeros_like(start[number_of]), []
            biases = b[number_of].chunk(2)
            backwards = direction == "reverse" or number_of == 1
            for cells in (x.flip(0) if backwards else x):
                h, c = step(cells, h, c, w[number_of], r[number_of], *biases)
                steps.append(h)
            found.append(torch.stack(steps[::-1] if backwards else steps))
        return torch.stack(found, 1)
    more = {"linear_before_reset": reset} if kind == "GRU" else {}
    y = graph.node(kind, [x, w, r, b, None, start], compute, batched=False, hidden_size=hidden, direction=direction, **more)
    return graph.node("Transpose", [y], lambda y: y.permute(2, 0, 1, 3), batched=True, perm=[2, 0, 1, 3])


@operation([3], batched=True)
def scanned(graph, x):
    """A Scan over positions, or a Loop of a known number of steps, whose state the weights change."""
    width, make = x.shape[2], onnx.helper
    if graph.draw.random() < 0.5:
        w = graph.parameter([width, width], 0.4)
        start = graph.node("ReduceMean", [x, integers(graph, 1)], lambda x, _: x.mean(1), keepdims=0)
        info = lambda name: make.make_tensor_value_info(name, FLOAT, None)
        body = make.make_graph(
            [make.make_node("MatMul", ["s_in", w.name], ["sw"]), make.make_node("Add", ["sw", "x_t"], ["sum"]),
             make.make_node("Tanh", ["sum"], ["s_out"]), make.make_node("Identity", ["s_out"], ["y_t"])],
            "body", [info("s_in"), info("x_t")], [info("s_out"), info("y_t")])
        def compute(s, x, w):
            found = []
            for t in range(x.shape[1]):
                s = torch.tanh(s @ w + x[:, t])
                found.append(s)
            return s, torch.stack(found, 1)
        return graph.node("Scan", [start, x, w], compute, 2, inner=1, body=body, num_scan_inputs=1, scan_input_axes=[1],
                          scan_output_axes=[1])
    w, count = graph.parameter([width]), graph.draw.randint(1, 3)
    info = make.make_tensor_value_info
    body = make.make_graph(
        [make.make_node("Identity", ["go"], ["goes"]), make.make_node("Mul", ["v_in", w.name], ["vw"]),
         make.make_node("Sin", ["vw"], ["v_out"])],
        "body", [info("i", onnx.TensorProto.INT64, []), info("go", onnx.TensorProto.BOOL, []), info("v_in", FLOAT, None)],
        [info("goes", onnx.TensorProto.BOOL, []), info("v_out", FLOAT, None)])
    def compute(_, v, w):
        for _ in range(count):
            v = torch.sin(v * w)
        return v
    return graph.node("Loop", [graph.constant(numpy.int64(count)), None, x, w], compute, inner=1, body=body)


@operation()
def branch(graph, x):
    """An If whose condition is known. The other branch reads a parameter of its own."""
    make, taken, w = onnx.helper, graph.draw.random() < 0.5, graph.parameter_for(x)
    info = make.make_tensor_value_info("out", FLOAT, None)
    first = make.make_graph([make.make_node("Mul", [x.name, w.name], ["out"])], "first", [], [info])
    other = make.make_graph([make.make_node("Add", [x.name, w.name], ["out"])], "other", [], [info])
    return graph.node("If", [graph.constant(numpy.bool_(taken)), x, w], lambda _, x, w: x * w if taken else x + w, inner=2,
                      batched=x.batched, then_branch=first, else_branch=other)


@operation([3], batched=True)
def rotary(graph, x):
    """Heads whose angles the positions of the data pick."""
    length, heads, half = x.shape[1], graph.draw.choice([1, 2, 3]), graph.draw.choice([1, 2])
    if length != graph.ids.shape[1]:
        raise Unfit
    size, interleaved = 2 * half, graph.draw.randint(0, 1)
    x = graph.node("MatMul", [x, graph.parameter([x.shape[2], heads * size], 0.5)], torch.matmul)
    angles = graph.numbers.random([graph.classes, half])
    caches = [graph.constant(function(angles).astype(numpy.float32)) for function in (numpy.cos, numpy.sin)]
    def compute(x, cos, sin, ids):
        x = x.reshape(x.shape[0], length, heads, size)
        cos, sin = cos[ids].unsqueeze(2), sin[ids].unsqueeze(2)
        if interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(2)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).flatten(2)
    return graph.node("RotaryEmbedding", [x, *caches, graph.ids], compute, interleaved=interleaved, num_heads=heads)


@operation([3], batched=True, weight=2)
def masked_attention(graph, x):
    """Several heads by one op, under a mask of the data or of the graph, with another scale."""
    length, width = x.shape[1:]
    heads, size = graph.draw.choice([1, 2, 3]), graph.draw.choice([1, 2, 4])
    q, k, v = (graph.node("MatMul", [x, graph.parameter([width, heads * size], 0.7)], torch.matmul) for _ in range(3))
    scale, form = graph.draw.choice([0.5, 0.25]), graph.draw.randrange(4)
    operands = [q, k, v]
    if form == 1:
        operands.append(graph.constant(numpy.triu(numpy.full((length, length), -1e4, numpy.float32), 1)))
    elif form == 2 and length == graph.ids.shape[1]:  # A sample may hide all but its first position.
        first = graph.constant(numpy.arange(length) == 0)
        mask = graph.node("Or", [graph.mask, first], torch.logical_or)
        operands.append(graph.node("Unsqueeze", [mask, integers(graph, 1, 2)], lambda m, _: m[:, None, None]))
    elif form == 3:
        operands.append(graph.parameter([heads, length, length]))
    causal = graph.draw.randint(0, 1) if form in (0, 3) else 0
    def compute(q, k, v, mask=None):
        q, k, v = (each.reshape(each.shape[0], length, heads, size).transpose(1, 2) for each in (q, k, v))
        scores = q @ k.transpose(2, 3) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        if causal:
            scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
    return graph.node("Attention", operands, compute, q_num_heads=heads, kv_num_heads=heads, scale=scale, is_causal=causal)


@operation([2, 3], batched=True, fits=lambda x: x.shape[-1] > 1, weight=3)
def experts(graph, x):
    """A router that picks experts with gates for each token, whose weights are gathered or all used."""
    count, width, channels = graph.draw.choice([2, 4, 4, 4, 3]), graph.draw.choice([2, 3, 4]), x.shape[-1]
    picks = graph.draw.choice([1, 2, 2, 2])
    logits = graph.node("MatMul", [x, graph.parameter([channels, count])], torch.matmul)
    gaps = logits.cells.detach().sort(-1)[0].diff(dim=-1).abs()
    if gaps.min() < 1e-3:
        raise Unfit
    scores = graph.node("Softmax", [logits], lambda x: x.softmax(-1), axis=-1)
    best, index = graph.node("TopK", [scores, integers(graph, picks)], lambda x, _: torch.topk(x, picks, -1), 2, axis=-1)
    if graph.draw.random() < 0.5:
        total = graph.node("ReduceSum", [best, integers(graph, -1)], lambda x, _: x.sum(-1, True), keepdims=1)
        best = graph.node("Div", [best, total], torch.div)
    up, down = graph.parameter([count, 2 * width, channels], 0.6), graph.parameter([count, channels, width], 0.6)
    def after(y, axis=-1):
        return graph.node("Unsqueeze", [y, integers(graph, axis)], lambda y, _: y.unsqueeze(axis))
    def gated(h):
        gate, rise = graph.node("Split", [h, integers(graph, width, width)], lambda h, _: h.split(width, -1), 2, axis=-1)
        gate = graph.node("Mul", [gate, graph.node("Sigmoid", [gate], torch.sigmoid)], torch.mul)
        return graph.node("Mul", [gate, rise], torch.mul)
    graph.has_experts = True
    if graph.draw.random() < 0.5:
        gathered = [graph.node("Gather", [weights, index], lambda w, i: w[i], batched=True, axis=0) for weights in (up, down)]
        tokens = after(after(x, x.rank - 1))
        h = graph.node("MatMul", [gathered[0], tokens], torch.matmul)
        h = graph.node("Squeeze", [h, integers(graph, -1)], lambda h, _: h.squeeze(-1))
        y = graph.node("MatMul", [gathered[1], after(gated(h))], torch.matmul)
        y = graph.node("Squeeze", [y, integers(graph, -1)], lambda y, _: y.squeeze(-1))
        y = graph.node("Mul", [y, after(best)], torch.mul)
        return graph.node("ReduceSum", [y, integers(graph, -2)], lambda y, _: y.sum(-2), keepdims=0)
    hot = graph.node("OneHot", [index, graph.constant(numpy.int64(count)), graph.constant(numpy.float32([0, 1]))],
                     lambda i, _, v: F.one_hot(i, count) * v[1], batched=True, axis=-1)
    weights = graph.node("ReduceSum", [graph.node("Mul", [hot, after(best)], torch.mul), integers(graph, -2)],
                         lambda w, _: w.sum(-2), keepdims=0)
    letters = "bs"[:x.rank - 1]
    h = graph.node("Einsum", [x, up], lambda x, w: torch.einsum(f"{letters}c,efc->{letters}ef", x, w),
                   equation=f"{letters}c,efc->{letters}ef")
    y = graph.node("Einsum", [gated(h), down], lambda a, w: torch.einsum(f"{letters}ef,ecf->{letters}ec", a, w),
                   equation=f"{letters}ef,ecf->{letters}ec")
    y = graph.node("Mul", [y, after(weights)], torch.mul)
    return graph.node("ReduceSum", [y, integers(graph, -2)], lambda y, _: y.sum(-2), keepdims=0)


@operation([3], batched=True)
def likelihood(graph, x):
    """One more loss: of log-probabilities whose classes are dimension 1."""
    if x.shape[1] != graph.labels.shape[1]:
        raise Unfit
    logits = graph.node("MatMul", [x, graph.parameter([x.shape[2], graph.classes], 0.7)], torch.matmul)
    logits = graph.node("Transpose", [logits], lambda x: x.transpose(1, 2), perm=[0, 2, 1])
    form = graph.draw.choice(["mean", "sum"])
    chances = graph.node("LogSoftmax", [logits], lambda x: x.log_softmax(1), axis=1)
    loss = graph.node("NegativeLogLikelihoodLoss", [chances, graph.labels],
                      lambda x, labels: F.nll_loss(x, labels, ignore_index=-1, reduction=form), batched=False, reduction=form,
                      ignore_index=-1)
    graph.losses.append(loss)
    return []
