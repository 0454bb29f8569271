# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that the exporter has no translation for, or one that fails, written out in calls that it can translate.

- unsqueeze of complex numbers, and their product with real ones: as calls of pairs of real numbers. Rotary positions that
  are written as complex numbers (Llama 4, DeepSeek-V2) need both.
- chunk of a dimension that a symbol sizes: its split would have a size that is known at run time alone. As slices. A split of
  one into pieces of a given size has an open number of pieces, and is refused.
- a diagonal that is changed in place: as a choice between two matrices.
- uniform_: as a product of rand.
- adaptive_max_pool1d, 2d and 3d: as maxima over windows of one size, or over each window by itself where the sizes do not
  divide the image.
- squeeze of dimensions that have more than one cell: these stay.
- hypot: as a root of squares; copysign, fmax and fmin: as choices between two values.
- functions and statistics, by the formulas of formulas.py and special.py.
- cumprod, cummax and cummin: over the matrix of what lies at or before each place. kthvalue and median: by the least values.
- searchsorted: as a count of smaller numbers. hstack, vstack and dstack: as cat; the exporter makes sequences of them.
- a stable sort: as any, because that of ONNX keeps the order of equal numbers.
- scatter and scatter_add of more numbers than places: of those that have one.
- shifts of integers by a number: as products and quotients; ONNX shifts unsigned integers alone.
- sums whose first operand is a number, torch.add(0.5, x, alpha=2): the operands change places.
- recurrent layers that start from an expanded parameter: the loop in which the exporter sizes their results wants states
  that lie as the loop leaves them. The start is copied.
"""
import itertools
import math

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from . import formulas, special
from .gradients import calls_inside

aten = torch.ops.aten
ADD, SCALE, ADD_NUMBER = aten.add.Tensor, aten.mul.Scalar, aten.add.Scalar
RECURRENT = {aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input}


def unsqueeze(x, dim):
    if not x.is_complex():
        return NotImplemented
    return torch.view_as_complex(torch.view_as_real(x).unsqueeze(dim % (x.dim() + 1)))


def multiply(x, y):
    """The product of complex and real numbers, in either order."""
    if not torch.is_tensor(x) or not x.is_complex():
        x, y = y, x
    if not torch.is_tensor(x) or not x.is_complex() or isinstance(y, complex) or (torch.is_tensor(y) and y.is_complex()):
        return NotImplemented
    return torch.view_as_complex(torch.view_as_real(x) * (y.unsqueeze(-1) if torch.is_tensor(y) else y))


def split(x, size, dim=0):
    """A split, or what chunk becomes. The number of the pieces must be known. Where their sizes may differ, the trace is tried
    again for one length (api.py)."""
    whole = x.shape[dim]
    if isinstance(whole, int):
        return NotImplemented
    if not isinstance(size, torch.SymInt):
        raise ValueError(f"a split into pieces of {size} needs a size that is known, and that of its operand's dimension "
                         f"{dim % x.dim()} is open; leave the dimension out of dynamic=, so that it has the example's size")
    if not statically_known_true(whole % size == 0):
        raise ValueError("a chunk whose pieces differ in size needs a length that is known")
    return [x.narrow(dim, each * size, size) for each in range(int(whole // size))]


def uniform(x, low=0.0, high=1.0, generator=None):
    return torch.rand_like(x) * (high - low) + low


def place_in_image(place, window, wholes):
    """The place in an image of the sizes `wholes` of a place in a window, whose beginnings and ends in each dimension are
    given."""
    in_image, stride = 0, 1
    for (begin, end), whole in zip(reversed(window), reversed(wholes)):
        in_image = in_image + (begin + place % (end - begin)) * stride
        place, stride = torch.div(place, end - begin, rounding_mode="floor"), stride * whole
    return in_image


def adaptive_maxima(pool):
    """The maxima and, as the call has them, their places in the image."""
    def written(x, sizes):
        wholes = x.shape[-len(sizes):]
        if not all(isinstance(whole, int) for whole in wholes):
            return NotImplemented
        if all(whole % size == 0 for whole, size in zip(wholes, sizes)):
            windows = [whole // size for whole, size in zip(wholes, sizes)]
            return pool(x, windows, windows)
        values, places = [], []
        for window in itertools.product(*([(i * whole // size, -(-(i + 1) * whole // size)) for i in range(size)]
                                          for whole, size in zip(wholes, sizes))):
            part = x
            for dim, (begin, end) in enumerate(window, -len(sizes)):
                part = part.narrow(dim, begin, end - begin)
            value, place = pool(part, [end - begin for begin, end in window])
            values.append(value)
            places.append(place_in_image(place, window, wholes))
        return tuple(torch.cat(each, -1).reshape(*x.shape[:-len(sizes)], *sizes) for each in (values, places))
    return written


adaptive_maxima_of_images = adaptive_maxima(aten.max_pool2d_with_indices)


def adaptive_maxima_of_lines(x, sizes):
    results = adaptive_maxima_of_images(x.unsqueeze(-2), [1, *sizes])
    return results if results is NotImplemented else tuple(each.squeeze(-2) for each in results)


def hypotenuse(x, y):
    return torch.sqrt(x * x + y * y)


def shifted_up(x, places):
    return x * 2**places


def shifted_down(x, places):
    return torch.floor_divide(x, 2**places)


def with_sign(x, y):
    negative = (y < 0) | ((y == 0) & (1 / y < 0)) if torch.is_tensor(y) else math.copysign(1, y) < 0
    return torch.where(negative, -x.abs(), x.abs()) if torch.is_tensor(negative) else (-x.abs() if negative else x.abs())


def greater(x, y):
    return torch.where((x >= y) | y.isnan(), x, y)


def smaller(x, y):
    return torch.where((x <= y) | y.isnan(), x, y)


def before(x, dim, filler):
    """Along a new dimension behind `dim`, what lies at or before each place of it; `filler` stands for the rest."""
    dim %= x.dim()
    places = torch.arange(x.shape[dim], device=x.device)
    mask = (places[:, None] >= places).reshape(*[1] * dim, len(places), len(places), *[1] * (x.dim() - dim - 1))
    return torch.where(mask, x.unsqueeze(dim), filler), dim + 1


def running_product(x, dim, dtype=None):
    among, dim = before(x if dtype is None else x.to(dtype), dim, 1)
    return among.prod(dim)


def running_extreme(of, against, limit):
    """cummax or cummin, `of` amax or amin, of which the last of equal cells has the place and the gradient. What lies behind a
    place counts as `limit`, and in types without infinities as the extreme `against` it, which is at hand in all of them."""
    def written(x, dim):
        filler = limit if x.is_floating_point() else against(x, dim, keepdim=True).unsqueeze(dim % x.dim())
        among, axis = before(x, dim, filler)
        found = among == of(among, axis, keepdim=True)
        if x.is_floating_point():
            found = found | among.isnan()
        places, _ = before(torch.arange(x.shape[dim], device=x.device), 0, -1)
        indices = torch.where(found, places.reshape(*places.shape, *[1] * (among.dim() - axis - 1)), -1).amax(axis)
        return x.gather(dim, indices), indices
    return written


def kth_least(x, k, dim=-1, keepdim=False):
    return tuple(each.narrow(dim, k - 1, 1) if keepdim else each.select(dim, k - 1)
                 for each in torch.topk(x, k, dim, largest=False))


def median(x, dim, keepdim=False):
    return kth_least(x, (x.shape[dim] + 1) // 2, dim, keepdim)


def count_smaller(numbers, x, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None or side not in (None, "left", "right"):
        return NotImplemented
    numbers = numbers.unsqueeze(-2) if numbers.dim() > 1 else numbers
    is_smaller = numbers <= x.unsqueeze(-1) if right or side == "right" else numbers < x.unsqueeze(-1)
    return is_smaller.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def beside(tensors):
    return torch.cat([x.reshape(1) if x.dim() == 0 else x for x in tensors], 0 if tensors[0].dim() < 2 else 1)


def below(tensors):
    return torch.cat([x.reshape(1, -1) if x.dim() < 2 else x for x in tensors], 0)


def behind(tensors):
    return torch.cat([x.reshape(1, -1, 1) if x.dim() < 2 else x.unsqueeze(2) if x.dim() == 2 else x for x in tensors], 2)


def sorted_stably(x, *, stable, dim=-1, descending=False):
    return torch.sort(x, dim, descending)


def of_places(x, index):
    for dim, size in enumerate(index.shape):
        x = x.narrow(dim, 0, size)
    return x


def has_surplus(x, dim, index, source):
    return any(not statically_known_true(size == whole) for size, whole in zip(index.shape, source.shape))


def scattered(x, dim, index, source):
    if not has_surplus(x, dim, index, source):
        return NotImplemented
    return x.scatter(dim, index, of_places(source, index))


def scattered_sums(x, dim, index, source):
    if not has_surplus(x, dim, index, source):
        return NotImplemented
    return x.scatter_add(dim, index, of_places(source, index))


def always(*_):
    return True


def any_complex(*operands):
    return any(torch.is_tensor(operand) and operand.is_complex() for operand in operands)


def with_diagonal(x, diagonal, offset=0, dim1=0, dim2=1):
    """x with other cells on a diagonal: what becomes of a view of the diagonal that is changed in place."""
    turned = x.movedim((dim1, dim2), (-2, -1))
    rows, columns = turned.shape[-2:]
    # The cells of a diagonal are counted by the dimension that it begins at the start of.
    along, missing = (-1, rows - diagonal.shape[-1]) if offset >= 0 else (-2, columns - diagonal.shape[-1])
    cells = torch.nn.functional.pad(diagonal, (0, missing)).unsqueeze(along)
    on = torch.arange(columns, device=x.device) - torch.arange(rows, device=x.device)[:, None] == offset
    return torch.where(on, cells, turned).movedim((-2, -1), (dim1, dim2))


def symbol_sized(x, *_):
    return any(isinstance(size, torch.SymInt) for size in x.shape)


def symbol_split(x, _, dim=0):
    return isinstance(x.shape[dim], torch.SymInt)


def keeps_sizes(x, dims):
    """Whether a squeeze leaves a dimension as it is, since it has more than one cell."""
    return x.dim() > 0 and any(not statically_known_true(x.shape[dim] == 1) for dim in ([dims] if isinstance(dims, int) else dims))


def squeezed(x, dims):
    """A squeeze of those dimensions that have one cell."""
    ones = [dim % x.dim() for dim in ([dims] if isinstance(dims, int) else dims) if statically_known_true(x.shape[dim] == 1)]
    return x.reshape([size for dim, size in enumerate(x.shape) if dim not in ones])


# Call -> (what it becomes on the way to ONNX, that written out, which operands fail).
CALLS = {aten.unsqueeze.default: (aten.unsqueeze.default, unsqueeze, any_complex),
         aten.mul.Tensor: (aten.mul.Tensor, multiply, any_complex),
         aten.squeeze.dim: (aten.squeeze.dim, squeezed, keeps_sizes),
         aten.squeeze.dims: (aten.squeeze.dims, squeezed, keeps_sizes),
         aten.chunk.default: (aten.split.Tensor, split, symbol_sized),
         aten.split.Tensor: (aten.split.Tensor, split, symbol_split),
         aten.diagonal.default: (aten.diagonal_scatter.default, with_diagonal, always),
         aten.uniform_.default: (aten.uniform.default, uniform, always),
         aten.scatter.src: (aten.scatter.src, scattered, has_surplus),
         aten.scatter_add.default: (aten.scatter_add.default, scattered_sums, has_surplus),
         aten.scatter_.src: (aten.scatter.src, scattered, has_surplus),
         aten.scatter_add_.default: (aten.scatter_add.default, scattered_sums, has_surplus),
         **{call: (call, written, always) for call, written in (
             (aten.adaptive_max_pool1d.default, adaptive_maxima_of_lines), (aten.adaptive_max_pool2d.default, adaptive_maxima_of_images),
             (aten.adaptive_max_pool3d.default, adaptive_maxima(aten.max_pool3d_with_indices)), (aten.hypot.default, hypotenuse),
             (aten.copysign.Tensor, with_sign), (aten.copysign.Scalar, with_sign), (aten.fmax.default, greater),
             (aten.fmin.default, smaller), (aten.cumprod.default, running_product),
             (aten.cummax.default, running_extreme(torch.amax, torch.amin, -math.inf)),
             (aten.cummin.default, running_extreme(torch.amin, torch.amax, math.inf)),
             (aten.kthvalue.default, kth_least), (aten.median.dim, median),
             (aten.searchsorted.Tensor, count_smaller), (aten.hstack.default, beside),
             (aten.vstack.default, below), (aten.dstack.default, behind), (aten.sort.stable, sorted_stably))},
         **{call: (call, written, always) for call, written in {**formulas.CALLS, **special.CALLS}.items()},
         aten.erfinv_.default: (aten.erfinv.default, special.ERFINV, always),
         **{call: (call, written, always)
            for form, written in (("l", shifted_up), ("r", shifted_down))
            for call in (getattr(aten, f"__{form}shift__").Scalar,
                         getattr(aten, {"l": "bitwise_left_shift", "r": "bitwise_right_shift"}[form]).Tensor_Scalar)}}


def all_calls(program):
    """Calls of the program, and of its regions, such as those of autocast()."""
    yield from (node for node in program.graph.nodes if node.op == "call_function")
    yield from calls_inside(program.graph_module)


def untranslated_calls(program):
    """What is to be written out, of what the program calls."""
    table = {}
    for node in all_calls(program):
        if node.target in CALLS:
            becomes, written, fails = CALLS[node.target]
            if fails(*(a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in node.args)):
                table[becomes] = written
    return table


def put_tensors_first(program):
    """Gives sums whose first operand is a number their tensor first."""
    for node in list(program.graph.nodes):
        if node.target is not ADD or isinstance(node.args[0], torch.fx.Node):
            continue
        number, tensor = node.args
        with program.graph.inserting_before(node):
            for target, other in ((SCALE, node.kwargs.get("alpha", 1)), (ADD_NUMBER, number)):
                if target is SCALE and other == 1:
                    continue
                value = target(tensor.meta["val"], other)
                tensor = program.graph.call_function(target, (tensor, other))
                tensor.meta.update({**node.meta, "val": value})
        node.replace_all_uses_with(tensor)
        program.graph.erase_node(node)
    program.graph_module.recompile()


def copy_starts(program):
    """Gives recurrent layers what they start from in the order of its dimensions."""
    for node in list(program.graph.nodes):
        if node.target not in RECURRENT:
            continue
        for start in node.args[1] if isinstance(node.args[1], (list, tuple)) else node.args[1:2]:
            with program.graph.inserting_before(node):
                copy = program.graph.call_function(aten.clone.default, (start,),
                                                   {"memory_format": torch.contiguous_format})
            copy.meta.update({**start.meta, "val": copy.target(start.meta["val"], **copy.kwargs)})
            node.replace_input_with(start, copy)
    program.graph_module.recompile()
