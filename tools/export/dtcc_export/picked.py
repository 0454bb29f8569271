# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask picks, x[mask], as all rows with the mask beside them: how many there are no shape can tell. What computes
each row by itself computes all of them, and a sum, a mean or a loss counts those of the mask.

A row that is not picked may hold anything (a label of -100, a target that is not a number), and zero times what becomes of it
need not be zero. Other values stand in its place where floats are computed: `ordinary` ones, at which common functions have no
pole and no kink. They are put there once, and again before functions with poles.

Module and trace are compared behind all this (compare.py): what is not the same is refused there.
"""
import dataclasses
import functools
import inspect
import itertools
from unittest import mock

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.overrides import TorchFunctionMode

from . import alignments, compare, writes
from .gradients import place_of_call
from .losses import ExportError
from .per_sample import Samples, Uncounted

# Functions that compute each cell by itself, by their names without underscores.
CELLWISE = frozenset("""
    abs add sub subtract mul multiply div divide true_divide truediv floordiv floor_divide pow square sqrt rsqrt exp exp2 expm1 log log1p
    log2 log10 sin cos tan tanh sigmoid logsigmoid relu relu6 gelu silu mish elu selu celu leaky_relu softplus softsign hardtanh
    hardsigmoid hardswish erf reciprocal neg negative pos sign clamp clip clamp_min clamp_max minimum maximum where lerp atan atan2 asin
    acos sinh cosh asinh round floor ceil trunc remainder fmod mod rsub radd rmul rtruediv rpow eq ne gt ge lt le logical_and
    logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not and or xor invert isnan isfinite isinf nan_to_num
    dropout xlogy logit
""".split())
# Functions that change no value of a float.
AS_IS = frozenset("float double half bfloat16 long int bool to type type_as clone detach contiguous".split())
# Functions that are not finite at some numbers.
POLES = frozenset("""
    div divide true_divide truediv rtruediv reciprocal pow rpow sqrt rsqrt log log1p log2 log10 atan2 asin acos xlogy logit fmod remainder
    mod norm vector_norm std var normalize cosine_similarity pairwise_distance
""".split())
# Functions that compute each row by itself, along what `dim` says or along the last dimensions.
ROWWISE = frozenset("""
    softmax log_softmax logsumexp sum mean amax amin argmax argmin max min norm vector_norm var std cumsum gather cat concat stack
    linear matmul rmatmul layer_norm rms_norm group_norm normalize cosine_similarity pairwise_distance getitem unsqueeze squeeze glu topk
    sort one_hot embedding chunk split tensor_split unbind
""".split())
ROW_VIEWS = frozenset("getitem unsqueeze squeeze cat concat stack chunk split tensor_split unbind".split())
# Their `dim` is the last one, or they have none.
ALONG_LAST = frozenset(("linear", "matmul", "rmatmul", "layer_norm", "rms_norm", "group_norm", "one_hot", "embedding"))
LOSSES = frozenset("""
    mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div poisson_nll_loss
    gaussian_nll_loss soft_margin_loss hinge_embedding_loss cosine_embedding_loss margin_ranking_loss triplet_margin_loss
""".split())
# Calls that give a mask, or a view of what a mask is made of: two with equal operands are one mask.
OF_MASKS = frozenset("""
    eq ne gt ge lt le logical_and logical_or logical_not and or invert bitwise_and bitwise_or bitwise_not isnan isfinite bool view
    reshape flatten squeeze unsqueeze getitem long
""".split())
# Views, behind which the cells of a mask are in the same order.
VIEWS = frozenset("view reshape flatten squeeze unsqueeze".split())


def name_of(function):
    return getattr(function, "__name__", str(function)).strip("_")


def refuse(what, instead="multiply by the mask, or choose with torch.where"):
    raise ExportError(f"{what}{place_of_call()}, which cannot be exported: how many there are is not known before the program runs; {instead}")


numbers = itertools.count()  # of values that were filled
picking = None  # the mode of the trace or run that goes on


def ordinary(rows):
    """Values for a row between a quarter and three quarters. Cells beside each other differ, and so do the rows of two calls."""
    cells = torch.arange(rows.shape[-1] if rows.dim() > 1 else 1, device=rows.device)
    return 0.25 + 0.5 * torch.frac(0.618034 * (cells + 1 + 0.37 * next(numbers))).to(rows.dtype)


@dataclasses.dataclass
class Place:
    """Coordinates in one dimension of a mask of `sizes`, of all its cells."""
    cells: torch.Tensor
    dim: int
    sizes: tuple


class Picked:
    """A value in the place of x[mask]: all rows of x, its masked dimensions joined to one, and the mask (rows).

    `is_finite`: whether the rows that are not picked were computed of ordinary values. `places`: the coordinates of which
    this is one, or all side by side, where it is what nonzero() gives; else None."""

    def __init__(self, rows, mask, is_finite=False, places=None):
        self.rows, self.mask, self.is_finite, self.places = rows, mask, is_finite, places

    def over_rows(self, like):
        return self.mask.reshape(-1, *[1] * (like.dim() - 1))

    @property
    def finite(self):
        """The rows with finite values in those that are not picked, and ordinary ones if they were not computed of such."""
        return self.rows if self.is_finite and self.rows.is_floating_point() else self.filled

    @functools.cached_property
    def filled(self):
        """The rows with ordinary values, or 0 for integers, in those that are not picked."""
        if not self.rows.is_floating_point():
            return self.rows if self.rows.dtype == torch.bool else torch.where(self.over_rows(self.rows), self.rows, 0)
        return torch.where(self.over_rows(self.rows), self.rows, ordinary(self.rows))

    @property
    def shape(self):
        return (self.count(), *self.rows.shape[1:])

    dtype = property(lambda self: self.rows.dtype)
    device = property(lambda self: self.rows.device)
    ndim = property(lambda self: self.rows.dim())

    def dim(self):
        return self.rows.dim()

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def count(self, of_row=1):
        return picking.questions.count(self.mask.sum() * of_row, self.mask)

    def numel(self):
        return self.count(self.rows[0].numel())

    def is_floating_point(self):
        return self.rows.is_floating_point()

    def __len__(self):
        refuse("the rows that a mask picks are counted by len()", "take the mask's sum()")

    def __bool__(self):
        refuse("rows that a mask picks are a condition of Python's", "choose with torch.where")

    def __iter__(self):
        if self.places is None or len(self.places[0].sizes) != 1:
            refuse("a loop goes over the rows that a mask picks")
        return writes.cells_of_loop(picking, self.places[0].sizes[0], (1,) * (self.rows.dim() - 1), self.device)

    def columns(self):
        return [Picked(place.cells, self.mask, places=[place]) for place in self.places]

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(torch.Tensor, name):
            raise AttributeError(f"rows that a mask picks have no attribute '{name}'")
        method = getattr(torch.Tensor, name)
        if not callable(method):
            refuse(f"'.{name}' of rows that a mask picks is read")
        return lambda *args, **kwargs: apply(method, (self, *args), kwargs)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return apply(function, args, kwargs or {})


class Ahead:
    """Picked rows behind a dimension of one cell, as x[None, rows] gives them, until a reshape takes it away."""

    def __init__(self, picked):
        self.picked = picked

    def reshape(self, *sizes):
        return self.picked.reshape(*sizes)

    view = reshape

    def squeeze(self, dim=0):
        return self.picked if dim == 0 else refuse("'squeeze' takes rows that a mask picks")

    def __getattr__(self, name):
        refuse(f"'{name}' takes rows that a mask picks behind a dimension of one cell", "take the rows alone, x[rows] for x[None, rows]")

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        refuse(f"'{name_of(function)}' takes rows that a mask picks behind a dimension of one cell", "take the rows alone, x[rows] for x[None, rows]")


def operator(name):
    method = getattr(torch.Tensor, name)
    return lambda self, *args: apply(method, (self, *args), {})


for _name in ("add radd sub rsub mul rmul truediv rtruediv floordiv pow rpow mod neg abs invert and or xor eq ne gt ge lt le getitem "
              "matmul").split():
    setattr(Picked, f"__{_name}__", operator(f"__{_name}__"))


def each(value, change):
    """`value`, an argument of a call, with `change` made to all that is picked in it."""
    if isinstance(value, Picked):
        return change(value)
    return type(value)(each(item, change) for item in value) if isinstance(value, (list, tuple)) else value


def all_picked(values):
    found = []
    each(list(values), lambda picked: found.append(picked))
    return found


def common_mask(name, picked):
    if any(other.mask is not picked[0].mask for other in picked):
        refuse(f"'{name}' takes rows that two masks pick")
    return picked[0].mask


def on_all(function, args, kwargs, is_view=False):
    """The call on all rows, whose result is picked as its operands are. A view takes them as they are."""
    name, picked = name_of(function), all_picked((*args, *kwargs.values()))
    mask = common_mask(name, picked)

    def rows(one):
        return one.rows if is_view else one.filled if name in POLES else one.finite
    kwargs = {key: False if key == "inplace" else value for key, value in kwargs.items()}
    result = function(*each(list(args), rows), **{key: each(value, rows) for key, value in kwargs.items()})
    parts = result if isinstance(result, tuple) else [result]
    if any(not isinstance(part, torch.Tensor) or part.dim() == 0 or part.shape[0] != mask.shape[0] for part in parts):
        refuse(f"'{name}' mixes rows that a mask picks")
    made = [Picked(part, mask, not is_view or all(one.is_finite for one in picked)) for part in parts]
    return type(result)(made) if isinstance(result, tuple) else made[0]


def check_rows(name, args, kwargs):
    """Refuses operands whose rows would meet others than they meet in PyTorch."""
    picked, others = all_picked((*args, *kwargs.values())), []
    for value in (*args, *kwargs.values()):
        others += [v for v in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(v, torch.Tensor)]
    dims = picked[0].dim()
    if any(one.dim() != dims for one in picked) or any(o.dim() > dims or o.dim() == dims and o.shape[0] != 1 for o in others):
        refuse(f"'{name}' takes rows that a mask picks and others")


def cellwise(function, args, kwargs):
    check_rows(name_of(function), args, kwargs)
    return on_all(function, args, kwargs)


def dims_of(function, args, kwargs):
    """The dimensions that a call works along, None for all."""
    name = name_of(function)
    if name in ALONG_LAST:
        return [1]
    if name == "getitem":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        all_of_rows = index[0] is Ellipsis or isinstance(index[0], slice) and index[0] == slice(None)
        cells = [part for part in index if part is not Ellipsis and part is not None]
        return [1] if all_of_rows and len(cells) <= args[0].dim() - (index[0] is Ellipsis) else [0]
    dims = next((kwargs[key] for key in ("dim", "axis") if key in kwargs), None)
    if dims is None:
        dims = {"cosine_similarity": 1, "normalize": 1, "pairwise_distance": 1, "glu": -1, "topk": -1, "sort": -1}.get(name)
        at = 2 if name in ("norm", "vector_norm", "topk", "normalize", "chunk", "split", "tensor_split") else 1
        dims = args[at] if len(args) > at else 0 if name in ("cat", "concat", "stack") else dims
    if dims is None:
        return None
    rank = (all_picked(args) or all_picked(kwargs.values()))[0].dim() + (name in ("unsqueeze", "stack"))
    return [dim % rank for dim in (dims if isinstance(dims, (list, tuple)) else [dims])]


def reduced(function, args, dims, kwargs):
    """A sum, a mean or an extreme over the rows, and over what further dimensions `dims` has."""
    picked, name = args[0], name_of(function)
    rows = picked.rows
    dims = list(range(rows.dim())) if dims is None else dims
    if len(args) > 2 or {*kwargs} - {"dim", "axis", "keepdim", "dtype"} or name not in ("sum", "mean", "amax", "amin", "max", "min") or \
            name in ("max", "min") and len(dims) < rows.dim():
        refuse(f"'{name}' goes over rows that a mask picks")
    keeps, inside = kwargs.get("keepdim", False), picked.over_rows(rows)
    if name in ("sum", "mean"):
        total = torch.where(inside, rows, 0).sum(dims, keepdim=keeps, dtype=kwargs.get("dtype"))
        count = picked.mask.sum()
        for dim in dims:
            count = count * (1 if dim == 0 else rows.shape[dim])
        return total if name == "sum" else total / count
    if not rows.is_floating_point():
        refuse(f"'{name}' goes over integers that a mask picks")
    outside = -torch.inf if "max" in name else torch.inf
    return (torch.amax if "max" in name else torch.amin)(torch.where(inside, rows, outside), dims, keepdim=keeps)


def rowwise(function, args, kwargs):
    name, dims = name_of(function), dims_of(function, args, kwargs)
    if name == "squeeze" and dims is None:
        dims = [1]
    if dims is not None and 0 not in dims:
        is_matrix = len(args) > 1 and isinstance(args[1], torch.Tensor) and args[1].dim() <= 2
        if name in ALONG_LAST and (not isinstance(args[0], Picked) or len(all_picked((*args, *kwargs.values()))) > 1) or \
                name in ("matmul", "rmatmul") and not is_matrix:
            refuse(f"'{name}' mixes rows that a mask picks")
        if name not in ALONG_LAST:
            check_rows(name, args, kwargs)
        return on_all(function, args, kwargs, is_view=name in ROW_VIEWS)
    if not isinstance(args[0], Picked):
        refuse(f"'{name}' joins rows that a mask picks to others")
    return reduced(function, args, dims, kwargs)


def batched(picked, sizes, name):
    """The picked rows in a view whose first dimension is the samples. The mask must pick the same number of rows in each sample.
    None if the view has another first dimension."""
    given, first, rest = picking.given[id(picked.mask)], sizes[0], sizes[1:]
    if any(isinstance(size, torch.Tensor) for size in sizes):
        return None
    rows, rest_of_row = functools.reduce(lambda a, b: a * b, rest, 1), picked.rows[0].numel()
    if first == -1:
        if given.dim() == 1 or -1 in rest or rows % rest_of_row or rows == rest_of_row:
            return None
        first = given.shape[0]
    elif given.dim() > 1 and first != given.shape[0]:
        return None
    elif given.dim() == 1 and (isinstance(first, int) and not isinstance(given.shape[0], int) or given.shape[0] % first):
        return None
    made = picking.samples.batch(picked.rows, given, first, name)
    if sizes[0] == -1 and made.shape[1] * made.shape[2] != rows:
        return None
    return made.reshape(sizes)


def reshaped(function, args, kwargs):
    """A view whose first dimension stays the rows, or becomes the samples."""
    picked, sizes = args[0], args[1:]
    sizes = list(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes)
    if name_of(function) == "flatten":
        if picked.dim() > 1 and sizes[:1] != [1]:
            refuse("'flatten' joins rows that a mask picks")
        return on_all(function, args, kwargs, is_view=True)
    inside = [size for size in sizes[1:] if not isinstance(size, torch.Tensor)]
    cells = picked.rows[0].numel()
    product = functools.reduce(lambda a, b: a * b, inside, 1)
    keeps_rows = sizes and (isinstance(sizes[0], torch.Tensor) or sizes[0] == -1)
    if not keeps_rows or len(inside) != len(sizes) - 1 or product != cells and -1 not in inside or kwargs:
        made = batched(picked, sizes, name_of(function)) if sizes and not kwargs else None
        return made if made is not None else refuse(f"'{name_of(function)}' joins or parts rows that a mask picks")
    return Picked(picked.rows.reshape(picked.rows.shape[0], *sizes[1:]), picked.mask, picked.is_finite)


def unflattened(picked, dim, sizes):
    """unflatten of the first dimension, the rows."""
    if dim not in (0, -picked.dim()):
        refuse("'unflatten' parts the cells of rows that a mask picks", "take reshape")
    return reshaped(torch.Tensor.unflatten, (picked, *sizes, *picked.rows.shape[1:]), {})


def of_classes(function, args, kwargs):
    """cross_entropy and nll_loss: labels of rows that are not picked are ignored."""
    given = inspect.signature(function).bind(*args, **kwargs)
    given.apply_defaults()
    given = given.arguments
    rows, target = given["input"], given["target"]
    if not isinstance(rows, Picked) or not isinstance(target, Picked):
        refuse(f"'{name_of(function)}' takes rows that a mask picks and others")
    check_reduction(function, given)
    common_mask(name_of(function), [rows, target])
    options = {key: given[key] for key in ("weight", "ignore_index", "label_smoothing") if key in given}
    if target.rows.is_floating_point():
        return of_cells(function, (rows, target), {**options, "reduction": given["reduction"]})
    labels = torch.where(target.over_rows(target.rows), target.rows, given["ignore_index"])
    result = function(rows.rows, labels, **options, reduction=given["reduction"])
    return Picked(result, rows.mask) if given["reduction"] == "none" else result


def check_reduction(function, kwargs):
    if kwargs.get("size_average") is not None or kwargs.get("reduce") is not None:
        refuse(f"'{name_of(function)}' takes size_average or reduce with rows that a mask picks", "say reduction=")


def of_cells(function, args, kwargs):
    """Losses that are one for each cell or row before they are summed up."""
    reduction = kwargs.get("reduction", "mean")
    check_reduction(function, kwargs)
    if name_of(function) not in ("cross_entropy", "nll_loss"):  # whose weights are a vector of classes
        check_rows(name_of(function), args, kwargs)
    losses = on_all(function, args, {**kwargs, "reduction": "none"})
    if reduction == "none":
        return losses
    total = losses.sum()
    if reduction == "batchmean":
        return total / losses.mask.sum()
    return total if reduction == "sum" else total / losses.numel()


def labels_of_samples(picked):
    """labels[mask] of ctc_loss, as a matrix."""
    given = picking.given[id(picked.mask)]
    if given.dim() != 2 or picked.dim() != 1:
        refuse("'ctc_loss' takes labels that a mask picks", "pick them by a matrix, with a row a sample, or give the matrix itself")
    return alignments.labels_at(given, picked.rows.reshape(given.shape))


def apply(function, args, kwargs):
    """A call of PyTorch's of which an operand is picked."""
    name = name_of(function)
    if getattr(function, "__name__", "").endswith("_") and not function.__name__.startswith("__"):
        refuse(f"'{function.__name__}' changes rows that a mask picks", "leave out the underscore")
    if name in ("cross_entropy", "nll_loss"):
        return of_classes(function, args, kwargs)
    if name == "ctc_loss":
        return function(*each(list(args), labels_of_samples), **{key: each(value, labels_of_samples) for key, value in kwargs.items()})
    if name in LOSSES:
        return of_cells(function, args, kwargs)
    first = args[0] if args else None
    if name == "getitem" and (made := indexed(*args)) is not None:
        return made
    if name in ("view", "reshape", "flatten", "squeeze") and isinstance(first, Picked) and first.places and len(first.places) == 1:
        return first.columns()[0]
    if name in ("view", "reshape", "flatten") and isinstance(first, Picked):
        return reshaped(function, args, kwargs)
    if name == "unflatten" and isinstance(first, Picked):
        return unflattened(first, *args[1:], **kwargs)
    if name == "index_select" and isinstance(first, torch.Tensor):
        dim, index = (*args[1:], *(kwargs[key] for key in ("dim", "index") if key in kwargs))
        if dim == 0:
            return indexed(first, index)
    if name in ("max", "min") and len(args) > 1 and not isinstance(args[1], int):
        return cellwise(function, args, kwargs)
    if name in ROWWISE:
        return rowwise(function, args, kwargs)
    if name in AS_IS and isinstance(first, Picked):
        return on_all(function, args, kwargs, is_view=True)
    if name in CELLWISE:
        return cellwise(function, args, kwargs)
    refuse(f"'{name}' takes rows that a mask picks")


def indexed(x, index):
    """x[index] if all of the index is picked, or a column of what nonzero() gives; else None."""
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(x, Picked):
        is_column = x.places is not None and len(parts) == 2 and parts[0] == slice(None) and isinstance(parts[1], int)
        return x.columns()[parts[1]] if is_column else None
    ahead = next((at for at, part in enumerate(parts) if part is not None), len(parts))
    if ahead:  # x[None, rows]
        made = indexed(x, parts[ahead:]) if ahead == 1 else None
        return Ahead(made) if made is not None else None
    taken = next((at for at, part in enumerate(parts) if not isinstance(part, Picked)), len(parts))
    if 0 < taken < len(parts) and not any(isinstance(part, (Picked, torch.Tensor)) for part in parts[taken:]):  # x[rows, 1, None]
        return apply(torch.Tensor.__getitem__, (indexed(x, parts[:taken]), (slice(None), *parts[taken:])), {})
    if not parts or not all(isinstance(part, Picked) and part.dtype != torch.bool for part in parts):
        return None
    mask, dims = common_mask("getitem", parts), len(parts)
    if (places := places_of(parts, x)) is None:
        return Picked(x[tuple(part.filled for part in parts)], mask)
    sizes = places[0].sizes
    order = sorted(range(dims), key=lambda at: places[at].dim)  # x[mask], if the coordinates are all and in their order
    cells = x.permute(*order, *range(dims, x.dim()))
    for dim in set(range(len(sizes))) - {place.dim for place in places}:
        cells = cells.unsqueeze(dim)  # The same row for all cells of this dimension.
    return Picked(cells.expand(*sizes, *x.shape[dims:]).reshape(-1, *x.shape[dims:]), mask)


def places_of(parts, x):
    """The coordinates by which x is indexed, if they are different dimensions of a mask that has the sizes of x in them."""
    places = [part.places[0] if part.places and part.ndim == 1 else None for part in parts]
    if None in places or len({place.dim for place in places}) < len(places):
        return None
    return places if all(place.sizes[place.dim] == size for place, size in zip(places, x.shape)) else None


def is_mask_and_more(index):
    """Whether an index is a mask of booleans, and then numbers, slices and new dimensions."""
    return isinstance(index, tuple) and len(index) > 1 and isinstance(index[0], torch.Tensor) and index[0].dtype == torch.bool and \
        not any(isinstance(part, torch.Tensor) for part in index[1:])


def is_whole(index):
    return index is Ellipsis or isinstance(index, slice) and index == slice(None)


class Picking(TorchFunctionMode):
    """While a module is traced, what a mask picks is a Picked value. `samples`: the masks that pick the same number of rows in
    each sample."""

    def __init__(self, samples):
        super().__init__()
        self.samples, self.given = samples, {}  # given: the masks as forward gives them, by the ids of their vectors
        # By the id of a tensor, which they hold so that no other gets it.
        self.keys, self.flat = {}, {}
        self.first = {}  # the first mask of each key
        self.questions = writes.Questions()

    def __enter__(self):
        global numbers, picking
        numbers, picking = itertools.count(), self
        return super().__enter__()

    def key(self, value):
        """What two values have in common that are made by the same calls of the same tensors."""
        if isinstance(value, torch.Tensor):
            return self.keys.setdefault(id(value), (value, id(value)))[1]
        return tuple(map(self.key, value)) if isinstance(value, (list, tuple)) else repr(value)

    def rows_of(self, mask):
        """The mask of all rows: one value for all masks that are made alike, and for views of a mask."""
        key = self.key(mask)
        while isinstance(key, tuple) and key and key[0] in VIEWS:
            key = key[1]
        first = self.first.setdefault(key, mask)
        flat = self.flat.setdefault(id(first), (first, first.reshape(-1)))[1]
        self.given[id(flat)] = mask
        return flat

    def pick(self, x, mask):
        """x[mask]; the mask covers the first dimensions of x."""
        return Picked(x.reshape(-1, *x.shape[mask.dim():]), self.rows_of(mask))

    def nonzero(self, mask, as_tuple):
        """The coordinates of a mask's cells: a column for each dimension, or all side by side."""
        mask = mask if mask.dtype == torch.bool else mask != 0
        sizes, places = mask.shape, []
        for dim, size in enumerate(sizes):
            cells = torch.arange(size, device=mask.device).reshape(-1, *[1] * (len(sizes) - 1 - dim)).expand(sizes).reshape(-1)
            places.append(Place(cells, dim, sizes))
        picked = Picked(torch.stack([place.cells for place in places], 1), self.rows_of(mask), places=places)
        return tuple(picked.columns()) if as_tuple else picked

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, name_of(function)
        x, index = (*args, None, None)[:2]
        if isinstance(x, torch.Tensor):
            if function is torch.Tensor.__bool__ and (truth := self.questions.answer(x)) is not None:
                return truth
            if name == "getitem" and all_picked([index]):  # which PyTorch looks for in the first operand only
                return apply(function, args, kwargs)
            if name == "getitem" and isinstance(index, tuple) and index and all(map(is_whole, index[1:])):  # x[mask, :]
                index = index[0]
            if name == "getitem" and isinstance(index, torch.Tensor) and index.dtype == torch.bool:
                return self.pick(x, index)
            if name == "getitem" and is_mask_and_more(index):  # x[mask, 1, None]
                return self.pick(x, index[0])[(slice(None), *index[1:])]
            if name in writes.CALLS and (made := writes.written(self, function, args, kwargs)) is not None:
                return made
            if name == "masked_select":
                mask = kwargs.get("mask", index)
                shape = torch.broadcast_shapes(x.shape, mask.shape)
                return self.pick(x.expand(shape), mask if mask.shape == shape else mask.expand(shape))
            if name in ("nonzero", "argwhere") or name == "where" and len(args) == 1:
                return self.nonzero(x, name == "where" or kwargs.get("as_tuple", False))
        result = function(*args, **kwargs)
        self.questions.note(name, args, kwargs, result, self.rows_of)
        if name in OF_MASKS and isinstance(result, torch.Tensor) and id(result) not in self.keys:
            self.keys[id(result)] = result, (name, *map(self.key, args), *((word, self.key(value)) for word, value in kwargs.items()))
        return result


def trace_rows(wrapper, inputs, trace):
    """The result of trace(), in which rows that masks pick are Picked values. If such rows become samples, the module first runs
    once on the inputs, to count the rows of a sample."""
    def under(samples, call):
        function = wrapper.loss_of
        checked = mock.patch.object(wrapper, "loss_of", lambda *args, **kwargs: samples.checked(function(*args, **kwargs)))
        with Picking(samples) as mode, checked:
            result = call()
        mode.questions.close()
        return result
    try:
        return under(Samples(), trace)
    except Uncounted:
        pass
    if any(tensor.is_meta for tensor in (*wrapper.parameters(), *wrapper.buffers())):
        raise ExportError("rows that a mask picks become samples, and their number is counted by a run of the module: give its "
                          "parameters values")
    run = Samples(measures=True)
    with compare.untouched(wrapper), torch.random.fork_rng(devices=[]):
        under(run, lambda: wrapper(**{name: value.clone() for name, value in inputs.items()}))
    return under(Samples(run.measured), trace)


def lists_rows(node):
    """Whether a call of a traced program lists the rows of a mask. The trace has no symbol for their number if forward gives the
    number: x[mask].view(batch, 4)."""
    index = node.args[1] if node.target is torch.ops.aten.index.Tensor else []
    return any(part is not None and part.meta["val"].dtype is torch.bool for part in index) or \
        node.target in (torch.ops.aten.nonzero.default, torch.ops.aten.masked_select.default)


def depends_on_data(program):
    """Whether a call of a traced program gives as many rows as inputs or parameters say. Sizes that are numbers of the data, such
    as the counts by which a tensor is split, are other calls' results."""
    signature, known = program.graph_signature, {}
    constants = {*signature.inputs_to_buffers, *signature.inputs_to_lifted_tensor_constants}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            known[node] = node.name in constants
            continue
        operands = [n.meta.get("val") for n in node.all_input_nodes]
        known[node] = all(known.get(n, True) for n in node.all_input_nodes if isinstance(n.meta.get("val"), (torch.Tensor, tuple, list)))
        made = node.meta.get("val")
        if known[node] or node.op != "call_function" or not isinstance(made, (torch.Tensor, tuple, list)):
            continue
        if lists_rows(node) or free_unbacked_symbols(made) - set().union(*map(free_unbacked_symbols, operands)):
            return True
    return False
