# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of random graphs that models have seldom: long recurrences, signals, rarer forms of attention, fused operators."""
import math
from fractions import Fraction

import numpy
import torch
import torch.nn.functional as F

from layer_operations import recurrence_step
from random_graphs import MOST_RANK, Unfit, integers, number, operation, rows_of_logits


def widened(graph, parameter, *shape):
    """A parameter with a dimension of 1 for the samples, as many times as there are."""
    return graph.node("Expand", [parameter, integers(graph, *shape)], lambda p, _: p.expand(shape),
                      batched=shape[0] == graph.batch)


def resize_matrix(old, new, scale, how):
    """The matrix [old, new] of a Resize along one dimension. Positions are fractions, so that none is rounded."""
    place, matrix = how["coordinate_transformation_mode"], torch.zeros(old, new, dtype=torch.double)
    for i in range(new):
        at = (i + Fraction(1, 2)) / scale - Fraction(1, 2)
        if place == "half_pixel_symmetric":
            at += Fraction(old, 2) * (1 - new / (scale * old))
        elif place == "align_corners":
            at = i * (old - 1) / (scale * old - 1) if new > 1 else Fraction(0)
        elif place == "asymmetric":
            at = i / scale
        elif place == "pytorch_half_pixel" and new == 1:
            at = Fraction(0)
        if how["mode"] == "nearest":
            cell = {"floor": math.floor(at), "ceil": math.ceil(at), "round_prefer_floor": math.ceil(at - Fraction(1, 2)),
                    "round_prefer_ceil": math.floor(at + Fraction(1, 2))}[how["nearest_mode"]]
            matrix[min(max(cell, 0), old - 1), i] = 1
            continue
        narrow, taps, a = min(1.0, float(scale)) if how["antialias"] else 1.0, {}, how.get("cubic_coeff_a", 0)
        for cell in range(-4 * old - 8, 5 * old + 8):
            x = abs(float(cell - at)) * narrow
            taps[cell] = max(0.0, 1 - x) if how["mode"] == "linear" else (
                (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1 if x <= 1 else a * (x ** 3 - 5 * x ** 2 + 8 * x - 4) if x < 2 else 0.0)
        if how.get("exclude_outside"):
            taps = {cell: tap for cell, tap in taps.items() if 0 <= cell < old}
        for cell, tap in taps.items():
            matrix[min(max(cell, 0), old - 1), i] += tap / sum(taps.values())
    return matrix


def apply_matrix(x, matrix, axis):
    """A linear operator, whose matrix is [old, new], along a dimension."""
    return (x.movedim(axis, -1) @ matrix.to(x.dtype)).movedim(-1, axis)


# Recurrences.

@operation([3], batched=True, weight=3)
def long_recurrence(graph, x):
    """A recurrent layer of 17 steps or more, which is one op, with start states, other functions and the last states as results."""
    kind, hidden, draw = graph.draw.choice(["RNN", "GRU", "LSTM"]), graph.draw.choice([1, 2, 3]), graph.draw
    direction, first = draw.choice(["forward", "reverse", "bidirectional"]), draw.randint(0, 1)
    count, gates, width = 2 if direction == "bidirectional" else 1, {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], x.shape[2]
    steps, reset, relu = draw.randint(17, 21), draw.randint(0, 1), kind == "RNN" and draw.random() < 0.4
    place = graph.parameter([steps, width], 0.8)
    x = graph.node("ReduceMean", [x, integers(graph, 1)], lambda x, _: x.mean([1], True), keepdims=1)
    x = graph.node("Mul", [x, place], torch.mul)
    if not first:
        x = graph.node("Transpose", [x], lambda x: x.transpose(0, 1), batched=False, perm=[1, 0, 2])
    w, r = graph.parameter([count, gates * hidden, width], 0.5), graph.parameter([count, gates * hidden, hidden], 0.4)
    b = graph.parameter([count, 2 * gates * hidden], 0.5) if draw.random() < 0.7 else None
    def start():
        shape = [graph.batch, count, hidden] if first else [count, graph.batch, hidden]
        one = [1, count, hidden] if first else [count, 1, hidden]
        return widened(graph, graph.parameter(one), *shape) if draw.random() < 0.6 else None
    h0, c0 = start(), start() if kind == "LSTM" else None
    there = [each is not None for each in (b, h0, c0)]
    step = recurrence_step(kind, hidden, reset, torch.relu if relu else torch.tanh)
    def compute(x, w, r, *more):
        more = list(more)
        b, h0, c0 = (more.pop(0) if each else None for each in there)
        x = x.transpose(0, 1) if first else x
        zeros, ys, hs, cs = x.new_zeros(x.shape[1], hidden), [], [], []
        for at in range(count):
            def begin(s):
                return zeros if s is None else s[:, at] if first else s[at]
            h, c, found = begin(h0), begin(c0), []
            biases = b[at].chunk(2) if b is not None else (0.0, x.new_zeros(gates * hidden))
            backwards = direction == "reverse" or at == 1
            for cells in (x.flip(0) if backwards else x):
                h, c = step(cells, h, c, w[at], r[at], *biases)
                found.append(h)
            ys.append(torch.stack(found[::-1] if backwards else found))
            hs.append(h)
            cs.append(c)
        y, h, c = torch.stack(ys, 1), torch.stack(hs), torch.stack(cs)  # [step, direction, batch, unit], [direction, ..]
        if first:
            y, h, c = y.permute(2, 0, 1, 3), h.transpose(0, 1), c.transpose(0, 1)
        return (y, h, c) if kind == "LSTM" else (y, h)
    more = {"linear_before_reset": reset} if kind == "GRU" else {"activations": ["Relu"] * count} if relu else {}
    more.update({"layout": 1} if first else {})
    operands, results = ([x, w, r, b, None, h0, c0], 3) if kind == "LSTM" else ([x, w, r, b, None, h0], 2)
    found = graph.node(kind, operands, compute, results, batched=bool(first), hidden_size=hidden, direction=direction, **more)
    read = draw.sample(found, draw.randint(1, len(found)))
    if first:
        return read
    return [graph.node("Transpose", [y], lambda y, order=order: y.permute(order), batched=True, perm=order) for y in read
            for order in [[2, 0, 1, 3] if y.rank == 4 else [1, 0, 2]]]


@operation([3], batched=True, fits=lambda x: x.shape[1] > 1)
def linear_attention(graph, x):
    """A state of keys and values that decays and is corrected step by step."""
    graph.opset = max(graph.opset, 27)
    rule = graph.draw.choice(["linear", "gated", "delta", "gated_delta"])
    kv, times = graph.draw.choice([1, 2]), graph.draw.choice([1, 2])
    key, value, length, scale = graph.draw.choice([1, 2, 3]), graph.draw.choice([1, 2]), x.shape[1], graph.draw.choice([0.0, 0.5])
    def made(width, squash=None):
        y = graph.node("MatMul", [x, graph.parameter([x.shape[2], width], 0.5)], torch.matmul)
        return graph.node("Sigmoid", [y], torch.sigmoid) if squash else y
    q, k, v = made(kv * times * key), made(kv * key), made(kv * value)
    k = graph.node("Tanh", [k], torch.tanh)
    fine = graph.draw.random() < 0.5
    decay = graph.node("Neg", [made(kv * key if fine else kv, True)], torch.neg) if "gated" in rule else None
    beta = made(kv if fine else 1, True) if "delta" in rule else None
    past = widened(graph, graph.parameter([1, kv, key, value]), graph.batch, kv, key, value) if graph.draw.random() < 0.5 else None
    there = [each is not None for each in (past, decay, beta)]
    def compute(q, k, v, *more):
        more = list(more)
        state, decay, beta = (more.pop(0) if each else None for each in there)
        n, outs = q.shape[0], []
        q, k, v = q.reshape(n, length, kv * times, key), k.reshape(n, length, kv, key), v.reshape(n, length, kv, value)
        state = q.new_zeros(n, kv, key, value) if state is None else state
        for t in range(length):
            write = v[:, t]
            if decay is not None:
                state = state * decay[:, t].reshape(n, kv, -1).exp()[..., None]
            if beta is not None:
                write = beta[:, t][..., None] * (write - torch.einsum("bhdm,bhd->bhm", state, k[:, t]))
            state = state + k[:, t, :, :, None] * write[:, :, None]
            outs.append(torch.einsum("bhd,bhdm->bhm", q[:, t], state.repeat_interleave(times, 1)) * (scale or key ** -0.5))
        return torch.stack(outs, 1).flatten(2), state
    found = graph.node("LinearAttention", [q, k, v, past, decay, beta], compute, 2, q_num_heads=kv * times, kv_num_heads=kv,
                       update_rule=rule, scale=scale)
    return found if graph.draw.random() < 0.5 else found[0]


@operation([3], batched=True)
def causal_convolution(graph, x):
    graph.opset = max(graph.opset, 27)
    channels, size, swish = x.shape[1], graph.draw.choice([1, 2, 3]), graph.draw.choice(["none", "silu"])
    bias = graph.parameter([channels]) if graph.draw.random() < 0.6 else None
    past = widened(graph, graph.parameter([1, channels, size - 1]), graph.batch, channels, size - 1) \
        if size > 1 and graph.draw.random() < 0.5 else None
    def compute(x, w, *more):
        more = list(more)
        b = more.pop(0) if bias else None
        x = torch.cat([more[0] if past else x.new_zeros(x.shape[0], channels, size - 1), x], 2)
        y = F.conv1d(x, w, b, groups=channels)
        return F.silu(y) if swish == "silu" else y
    return graph.node("CausalConvWithState", [x, graph.parameter([channels, 1, size], 0.7), bias, past], compute, activation=swish)


# Signals and images.

@operation(range(2, MOST_RANK))
def fourier_transform(graph, x):
    axis, _ = graph.axis(x)
    length, inverse = graph.draw.randint(1, x.shape[axis] + 2), graph.draw.randint(0, 1)
    onesided = 0 if inverse else graph.draw.randint(0, 1)
    x = graph.node("Unsqueeze", [x, integers(graph, -1)], lambda x, _: x.unsqueeze(-1))
    def compute(x, *_):
        x = x.squeeze(-1)
        y = torch.fft.ifft(x, length, axis) if inverse else (torch.fft.rfft if onesided else torch.fft.fft)(x, length, axis)
        return torch.view_as_real(y.resolve_conj())
    y = graph.node("DFT", [x, graph.constant(numpy.int64(length)), graph.constant(numpy.int64(axis))], compute, inverse=inverse,
                   onesided=onesided)
    return y


@operation([2], batched=True, fits=lambda x: x.shape[1] > 2)
def short_fourier_transform(graph, x):
    size, step, onesided = graph.draw.randint(2, x.shape[1]), graph.draw.randint(1, 2), graph.draw.randint(0, 1)
    window = graph.constant(graph.numbers.random(size).astype(numpy.float32)) if graph.draw.random() < 0.6 else None
    x = graph.node("Unsqueeze", [x, integers(graph, -1)], lambda x, _: x.unsqueeze(-1))
    def compute(x, _, *more):
        frames = x.squeeze(-1).unfold(1, size, step)
        frames = frames * more[0] if window else frames
        return torch.view_as_real((torch.fft.rfft if onesided else torch.fft.fft)(frames, size, -1).resolve_conj())
    operands = [x, graph.constant(numpy.int64(step)), window, graph.constant(numpy.int64(size))]
    return graph.node("STFT", operands, compute, onesided=onesided)


@operation([3, 4], batched=True, weight=2)
def rarer_resize(graph, x):
    """Any mode on one or two dimensions."""
    axes = sorted(graph.draw.sample(x.free, min(len(x.free), graph.draw.choice([1, 1, 2]))))
    mode = graph.draw.choice(["nearest", "linear", "cubic"])
    more = {"mode": mode, "coordinate_transformation_mode": graph.draw.choice(
        ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"])}
    if mode == "nearest":
        more["nearest_mode"] = graph.draw.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    else:
        more["antialias"] = graph.draw.randint(0, 1)
        if mode == "cubic":
            more["exclude_outside"], more["cubic_coeff_a"] = graph.draw.randint(0, 1), graph.draw.choice([-0.75, -0.5])
    sizes, factors = [graph.draw.randint(1, 2 * x.shape[axis]) for axis in axes], None
    if graph.draw.random() < 0.4:
        factors = [graph.draw.choice([0.5, 1.5, 2.0, 0.75]) for _ in axes]
        sizes = [math.floor(x.shape[axis] * factor) for axis, factor in zip(axes, factors)]
    if 0 in sizes:
        raise Unfit
    matrices = []
    for at, axis in enumerate(axes):
        scale = Fraction(factors[at]) if factors else Fraction(sizes[at], x.shape[axis])
        matrices.append(resize_matrix(x.shape[axis], sizes[at], scale, more))
    def compute(x, *_):
        for axis, matrix in zip(axes, matrices):
            x = apply_matrix(x, matrix, axis)
        return x
    last = graph.constant(numpy.float32(factors)) if factors else integers(graph, *sizes)
    return graph.node("Resize", [x, None, last] if factors else [x, None, None, last], compute, axes=axes, **more)


@operation([3], batched=True)
def columns_to_image(graph, x):
    kernel = [graph.draw.randint(1, 2), graph.draw.randint(1, 2)]
    strides, dilations, pads = ([graph.draw.randint(low, low + 1) for _ in kernel] for low in (1, 1, 0))
    sizes = [graph.draw.randint(2, 5) for _ in kernel]
    places = [(size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, d, p in zip(sizes, kernel, strides, dilations, pads)]
    if min(places) < 1:
        raise Unfit
    channels = graph.draw.randint(1, 2)
    x = graph.node("ReduceMean", [x, integers(graph, 1, 2)], lambda x, _: x.mean([1, 2], True), keepdims=1)
    x = graph.node("Mul", [x, graph.parameter([channels * math.prod(kernel), math.prod(places)])], torch.mul)
    return graph.node("Col2Im", [x, integers(graph, *sizes), integers(graph, *kernel)],
                      lambda x, *_: F.fold(x, sizes, kernel, dilations, pads, strides), strides=strides, dilations=dilations,
                      pads=pads + pads)


@operation([4], batched=True, fits=lambda x: min(x.shape[2:]) > 1)
def unpooled(graph, x):
    """MaxUnpool of what MaxPool picked."""
    size = x.shape[2:]
    values, places = graph.node("MaxPool", [x], lambda x: F.max_pool2d(x, 2, 2, return_indices=True), 2, kernel_shape=[2, 2],
                                strides=[2, 2])
    values = graph.node("Tanh", [values], torch.tanh)
    if any(each % 2 for each in size):
        raise Unfit
    return graph.node("MaxUnpool", [values, places], lambda v, i: F.max_unpool2d(v, i, 2, 2), kernel_shape=[2, 2], strides=[2, 2])


@operation([4], batched=True)
def affine_grid(graph, x):
    sizes, align = [graph.draw.randint(2, 4), graph.draw.randint(2, 4)], graph.draw.randint(0, 1)
    if min(x.shape[2:]) < 2:
        raise Unfit
    theta = graph.node("Tanh", [graph.parameter([1, 2, 3], 0.5)], torch.tanh)
    theta = widened(graph, theta, graph.batch, 2, 3)
    shape = [graph.batch, x.shape[1], *sizes]
    grid = graph.node("AffineGrid", [theta, integers(graph, *shape)],
                      lambda t, _: F.affine_grid(t, [t.shape[0], *shape[1:]], bool(align)), align_corners=align, batched=True)
    mode, torch_mode = graph.draw.choice([("linear", "bilinear"), ("cubic", "bicubic"), ("nearest", "nearest")])
    return graph.node("GridSample", [x, grid], lambda x, g: F.grid_sample(x, g, torch_mode, "zeros", bool(align)), mode=mode,
                      padding_mode="zeros", align_corners=align)


# Attention, norms and losses with results and operands that are rare.

@operation([3], batched=True, weight=3)
def rarer_attention(graph, x):
    """Other lengths of keys than of queries, values of another width, four dimensions, soft caps and past keys."""
    draw, length, width = graph.draw, x.shape[1], x.shape[2]
    other = graph.pick(lambda y: y.batched and y.rank == 3) if draw.random() < 0.5 else x
    keys, shared, times = other.shape[1], draw.choice([1, 2]), draw.choice([1, 1, 2])
    size, wide, four = draw.choice([1, 2, 4]), draw.choice([1, 2, 3]), draw.random() < 0.4
    softcap, causal = draw.choice([0.0, 0.0, 2.0]), draw.randint(0, 1)
    old = draw.choice([0, 0, 0, 2])
    def made(y, heads, each):
        y = graph.node("MatMul", [y, graph.parameter([y.shape[2], heads * each], 0.6)], torch.matmul)
        if not four:
            return y
        y = graph.node("Reshape", [y, integers(graph, 0, 0, heads, each)], lambda y, _: y.reshape(*y.shape[:2], heads, each))
        return graph.node("Transpose", [y], lambda y: y.transpose(1, 2), perm=[0, 2, 1, 3])
    q, k, v = made(x, shared * times, size), made(other, shared, size), made(other, shared, wide)
    total, mask = keys + old, None
    form = draw.randrange(5)
    if form == 1:
        hidden = graph.numbers.random([length, total]) < 0.6
        hidden[:, 0] = True
        mask = graph.constant(hidden)
    elif form == 2:
        mask = graph.parameter([length, total])
    elif form == 3:
        mask = widened(graph, graph.parameter([1, 1, 1, total]), graph.batch, 1, length, total)
    past = [widened(graph, graph.parameter([1, shared, old, each]), graph.batch, shared, old, each) for each in (size, wide)] \
        if old else [None, None]
    there = [each is not None for each in (mask, *past)]
    def compute(q, k, v, *more):
        more = list(more)
        mask, old_keys, old_values = (more.pop(0) if each else None for each in there)
        if not four:
            q = q.reshape(q.shape[0], length, -1, size).transpose(1, 2)
            k, v = (y.reshape(y.shape[0], keys, shared, -1).transpose(1, 2) for y in (k, v))
        k, v = (torch.cat([a, b], 2) if old else b for a, b in ((old_keys, k), (old_values, v)))
        now = k, v
        k, v = (y.repeat_interleave(times, 1) for y in (k, v))
        scores = q @ k.transpose(2, 3) * size ** -0.5
        if softcap:
            scores = torch.tanh(scores / softcap) * softcap
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        if causal:
            scores = scores.masked_fill(~torch.ones(length, total).tril(old).bool(), -math.inf)
        y = scores.softmax(-1) @ v
        return (y if four else y.transpose(1, 2).flatten(2), *(now if old else ()))
    if form == 1 and causal:
        raise Unfit  # A query might see nothing.
    graph.opset = max(graph.opset, 24)  # Soft caps come before masks since then.
    heads = {} if four else {"q_num_heads": shared * times, "kv_num_heads": shared}
    heads.update(softcap=softcap, is_causal=causal)
    if not old:
        return graph.node("Attention", [q, k, v, mask], lambda *cells: compute(*cells)[0], **heads)
    return graph.node("Attention", [q, k, v, mask, *past], compute, 3, **heads)


@operation(range(2, MOST_RANK + 1), batched=True)
def norm_with_statistics(graph, x):
    """A layer norm whose mean and inverse deviation are results too."""
    axis, written = graph.axis(x)
    shape, axes = x.shape[axis:], list(range(axis, x.rank))
    bias = graph.parameter(shape) if graph.draw.random() < 0.5 else None
    def compute(x, w, b=0.0):
        mean = x.mean(axes, True)
        inverse = ((x - mean).square().mean(axes, True) + 0.25).rsqrt()
        return (x - mean) * inverse * w + b, mean, inverse
    return graph.node("LayerNormalization", [x, graph.parameter(shape), bias], compute, 3, axis=written, epsilon=0.25)


@operation(range(2, MOST_RANK + 1), batched=True)
def known_statistics(graph, x):
    """A batch norm by statistics that it is given, as in evaluation."""
    channels, graph.has_known_statistics = x.shape[1], True
    mean, variance = (graph.constant(graph.numbers.random(channels).astype(numpy.float32) + numpy.float32(0.5)) for _ in range(2))
    return graph.node("BatchNormalization", [x, graph.parameter([channels]), graph.parameter([channels]), mean, variance],
                      lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b, False, 0.1, 0.01), epsilon=0.01)


@operation([2, 3, 4], batched=True, weight=2)
def tied(graph, x):
    """A table for its rows, and turned round as the matrix of a product."""
    table = graph.parameter([graph.classes, x.shape[-1]], 0.6)
    rows = graph.node("Gather", [table, graph.ids], lambda t, i: t[i], batched=True)
    form = graph.draw.randrange(3)
    if form == 0 and x.rank == 2:
        return [rows, graph.node("Gemm", [x, table], lambda x, w: x @ w.T, transB=1)]
    if form == 1:
        letters = "bst"[:x.rank - 1]
        return [rows, graph.node("Einsum", [x, table], lambda x, w: x @ w.T, equation=f"{letters}w,cw->{letters}c")]
    return [rows, graph.node("MatMul", [x, graph.node("Transpose", [table], lambda t: t.T, perm=[1, 0])], torch.matmul)]


@operation([3, 4], batched=True)
def class_first_losses(graph, x):
    """A loss over classes in dimension 1, with weights, and the log-probabilities read too."""
    if x.shape[-1] != graph.labels.shape[1]:
        raise Unfit
    if x.rank == 4:
        x = graph.node("ReduceMean", [x, integers(graph, 2)], lambda x, _: x.mean(2), keepdims=0)
    scores = graph.node("MatMul", [graph.parameter([graph.classes, x.shape[1]], 0.7), x], torch.matmul, batched=True)
    form, weights = graph.draw.choice(["mean", "sum"]), None
    if graph.draw.random() < 0.5:
        weights = graph.constant(graph.numbers.random(graph.classes).astype(numpy.float32) + numpy.float32(0.2))
    def compute(x, labels, w=None):
        return F.cross_entropy(x, labels, w, ignore_index=-1, reduction=form), x.log_softmax(1)
    loss, chances = graph.node("SoftmaxCrossEntropyLoss", [scores, graph.labels, weights], compute, 2, batched=True,
                               reduction=form, ignore_index=-1)
    loss.batched = False
    graph.losses.append(loss)
    return chances if graph.draw.random() < 0.5 else []


# Operators of ONNX Runtime.

MICROSOFT = "com.microsoft"


@operation(range(2, MOST_RANK), weight=2)
def fused(graph, x):
    kind = graph.draw.randrange(11)
    if kind == 0:
        return graph.node("BiasGelu", [x, graph.parameter([x.shape[-1]])], lambda x, b: F.gelu(x + b), domain=MICROSOFT)
    if kind == 1:
        bias = graph.parameter([x.shape[-1]]) if graph.draw.random() < 0.5 else None
        return graph.node("FastGelu", [x, bias], lambda x, b=0.0: F.gelu(x + b, approximate="tanh"), domain=MICROSOFT)
    if kind == 2:
        return graph.node("QuickGelu", [x], lambda x: x * torch.sigmoid(1.25 * x), domain=MICROSOFT, alpha=1.25)
    if kind == 3:
        return graph.node("Gelu", [x], F.gelu, domain=MICROSOFT)
    if kind == 4:
        axis = graph.draw.choice(x.free)
        bias = graph.parameter([1 if graph.draw.random() < 0.4 or not at else size for at, size in enumerate(x.shape)])
        return graph.node("BiasSoftmax", [x, bias], lambda x, b: (x + b).flatten(axis).softmax(-1).reshape((x + b).shape),
                          domain=MICROSOFT, batched=x.batched, axis=axis, is_inner_broadcast=0)
    if kind == 5:
        lengths = [1, x.shape[-1] - 1]
        if lengths[1] < 1:
            raise Unfit
        return graph.node("SplitTraining", [x, integers(graph, *lengths)], lambda x, _: x.split(lengths, -1), 2, domain=MICROSOFT,
                          axis=-1)
    if kind == 6:
        axis, written = graph.axis(x)
        other = graph.node("Neg", [x], torch.neg)
        return graph.node("ConcatTraining", [x, other, x], lambda *xs: torch.cat(xs, axis), domain=MICROSOFT, axis=written)
    if kind == 7 and len(x.free) > 1:
        return graph.node("Trilu", [x, graph.constant(numpy.int64(1))], lambda x, _: torch.tril(x, 1), domain=MICROSOFT, upper=0)
    if kind == 8:
        shape = x.shape[-1:]
        return graph.node("LayerNormalization", [x, graph.parameter(shape), graph.parameter(shape)],
                          lambda x, w, b: F.layer_norm(x, shape, w, b, 0.25), domain=MICROSOFT, axis=-1, epsilon=0.25)
    if kind == 9:
        shape = x.shape[-1:]
        return graph.node("SimplifiedLayerNormalization", [x, graph.parameter(shape)], lambda x, w: F.rms_norm(x, shape, w, 0.25),
                          domain=MICROSOFT, axis=-1, epsilon=0.25)
    axis = graph.draw.choice(x.free)
    return graph.node("ReduceSumTraining", [x, integers(graph, axis)], lambda x, _: x.sum([axis], True), domain=MICROSOFT,
                      keepdims=1)


@operation([3, 4], batched=True)
def fused_product(graph, x):
    size, alpha, turned = x.shape[-1], graph.draw.choice([1.0, 0.5]), graph.draw.randint(0, 1)
    width = graph.draw.choice([1, 2, 3, 5])
    if graph.draw.random() < 0.3:
        return graph.node("FusedMatMul", [x, x], lambda a, b: alpha * a.transpose(-1, -2) @ b, domain=MICROSOFT, transA=1,
                          alpha=alpha)
    weight = graph.parameter([width, size] if turned else [size, width], 0.6)
    return graph.node("FusedMatMul", [x, weight], lambda x, w: alpha * x @ (w.T if turned else w), domain=MICROSOFT, transB=turned,
                      alpha=alpha)


@operation([3], batched=True)
def training_losses(graph, x):
    """The losses of ONNX Runtime, whose label to leave out is an operand."""
    logits, labels = rows_of_logits(graph, x)
    form, left_out, weights = graph.draw.choice(["mean", "sum"]), graph.constant(numpy.int64(-1)), None
    if graph.draw.random() < 0.4:
        weights = graph.constant(graph.numbers.random(graph.classes).astype(numpy.float32) + numpy.float32(0.2))
    function, kind = F.cross_entropy, "SoftmaxCrossEntropyLossInternal"
    if graph.draw.random() < 0.5:
        logits = graph.node("LogSoftmax", [logits], lambda x: x.log_softmax(-1), axis=-1)
        function, kind = F.nll_loss, graph.draw.choice(["NegativeLogLikelihoodLossInternal", "NegativeLogLikelihoodLossInternal2"])
    def compute(x, labels, *more):
        return function(x, labels, more[0] if weights else None, ignore_index=-1, reduction=form)
    graph.losses.append(graph.node(kind, [logits, labels, weights, left_out], compute, domain=MICROSOFT, batched=False,
                                   reduction=form))
    return []


# Sizes that the graph computes, integers that run on, and rarer writing.

@operation(range(2, MOST_RANK), batched=True)
def computed_shape(graph, x):
    """A shape joined from sizes that the graph reads off a value."""
    def read(at):
        shape = graph.node("Shape", [x], lambda x: torch.tensor(x.shape), batched=False, start=at, end=at + 1)
        return shape
    joined = graph.node("Concat", [read(0), integers(graph, -1), read(x.rank - 1), integers(graph, 1)],
                        lambda *xs: torch.cat(xs), batched=False, axis=0)
    return graph.node("Reshape", [x, joined], lambda x, _: x.reshape(x.shape[0], -1, x.shape[-1], 1), batched=True)


@operation()
def running_integers(graph, x):
    """A weight for each position, from a running sum of integers of the data."""
    exclusive, reverse, size = graph.draw.randint(0, 1), graph.draw.randint(0, 1), graph.ids.shape[1]
    def compute(i, _):
        i = i.flip(1) if reverse else i
        total = i.cumsum(1) - (i if exclusive else 0)
        return total.flip(1) if reverse else total
    total = graph.node("CumSum", [graph.ids, graph.constant(numpy.int64(1))], compute, exclusive=exclusive, reverse=reverse)
    if graph.draw.random() < 0.5:
        total = graph.node("Mod", [total, integers(graph, 5)], torch.remainder)
        table = graph.parameter([5, graph.draw.choice([1, 2, 3])])
        return graph.node("Gather", [table, total], lambda t, i: t[i], batched=True)
    cells = graph.node("Cast", [total], lambda x: x.to(torch.get_default_dtype()), to=1)
    return graph.node("Mul", [cells, graph.parameter([size], 0.1)], torch.mul)


@operation(range(2, 5), batched=True)
def places_of_data(graph, x):
    """Rows that the data pick, and rows that are written where the data say."""
    size, width = graph.ids.shape[1], x.shape[-1]
    if x.shape[1] < graph.classes:
        raise Unfit
    shape = [graph.batch, size, *x.shape[2:]]
    index = graph.node("Reshape", [graph.ids, integers(graph, 0, 0, *[1] * (x.rank - 2))],
                       lambda i, _: i.reshape(list(i.shape) + [1] * (x.rank - 2)))
    index = graph.node("Expand", [index, integers(graph, *shape)], lambda i, _: i.expand(shape))
    if graph.draw.random() < 0.5:
        return graph.node("GatherElements", [x, index], lambda x, i: x.gather(1, i), axis=1)
    updates = widened(graph, graph.parameter([1, size, *x.shape[2:]]), *shape)
    form = graph.draw.choice(["add", "max", "min"])
    function = {"max": "amax", "min": "amin"}.get(form)
    return graph.node("ScatterElements", [x, index, updates],
                      lambda x, i, u: x.scatter_reduce(1, i, u, function) if function else x.scatter_add(1, i, u), axis=1,
                      reduction=form)


@operation([3], batched=True)
def rarer_einsum(graph, x):
    a, b = x.shape[1:]
    form = graph.draw.randrange(6)
    if form == 0:
        return graph.node("Einsum", [x, graph.parameter([b, 3]), graph.parameter([a, 2])],
                          lambda *xs: torch.einsum("bij,jk,il->bkl", *xs), equation="bij,jk,il->bkl")
    if form == 1:
        return graph.node("Einsum", [x, graph.parameter([b, 2])], lambda *xs: torch.einsum("...j,jk->...k", *xs),
                          equation="...j,jk->...k")
    if form == 2:
        square = graph.node("MatMul", [x, graph.node("Transpose", [x], lambda x: x.transpose(1, 2), perm=[0, 2, 1])], torch.matmul)
        return graph.node("Einsum", [square], lambda x: torch.einsum("bii->bi", x), equation="bii->bi")
    if form == 3:
        # The result has the letters that occur once.
        return graph.node("Einsum", [x, graph.parameter([b, 2])], lambda x, w: x @ w, equation="bij,jk")
    if form == 4:
        return graph.node("Einsum", [x, x], lambda x, y: torch.einsum("bij,bij->b", x, y), equation="bij,bij->b")
    return graph.node("Einsum", [x, graph.parameter([4, a, b], 0.4), x], lambda *xs: torch.einsum("bij,oij,bij->bo", *xs),
                      equation="bij,oij,bij->bo")


@operation(range(1, MOST_RANK + 1), batched=True)
def sums_of_several(graph, x):
    kind = graph.draw.choice(["Sum", "Mean", "Max", "Min"])
    others = [graph.parameter_for(x), graph.parameter_for(x)]
    def compute(*xs):
        xs = torch.broadcast_tensors(*xs)
        if kind in ("Sum", "Mean"):
            return sum(xs) / (len(xs) if kind == "Mean" else 1)
        return torch.stack(xs).amax(0) if kind == "Max" else torch.stack(xs).amin(0)
    return graph.node(kind, [x, *others], compute)


@operation([3, 4, 5], batched=True, weight=2)
def padded_itself(graph, x):
    """Convolutions and pools whose padding the sizes tell, and transposed convolutions with cells of their own at the end."""
    sizes, channels, dims, draw = x.shape[2:], x.shape[1], x.rank - 2, graph.draw
    strides = [draw.randint(1, 2) for _ in sizes]
    if draw.random() < 0.35:
        kernel = [draw.randint(1, 3) for _ in sizes]
        extra = [draw.randint(0, s - 1) for s in strides]
        function = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][dims - 1]
        return graph.node("ConvTranspose", [x, graph.parameter([channels, 2] + kernel, 0.5)],
                          lambda x, w: function(x, w, None, strides, 0, extra), strides=strides, output_padding=extra)
    kernel, auto = [draw.randint(1, min(3, size)) for size in sizes], draw.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    pads = []
    for size, k, s in zip(sizes, kernel, strides):
        total = max(0, (-(-size // s) - 1) * s + k - size) if auto != "VALID" else 0
        few = total // 2
        pads.append((few, total - few) if auto != "SAME_LOWER" else (total - few, few))
    around = [each for pair in reversed(pads) for each in pair]
    if draw.random() < 0.6:
        function = [F.conv1d, F.conv2d, F.conv3d][dims - 1]
        return graph.node("Conv", [x, graph.parameter([2, channels] + kernel, 0.5)],
                          lambda x, w: function(F.pad(x, around), w, None, strides), strides=strides, auto_pad=auto)
    function = [F.max_pool1d, F.max_pool2d, F.max_pool3d][dims - 1]
    return graph.node("MaxPool", [x], lambda x: function(F.pad(x, around, value=-math.inf), kernel, strides), strides=strides,
                      auto_pad=auto, kernel_shape=kernel)
