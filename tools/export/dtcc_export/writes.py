# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes to rows that a mask picks (picked.py), x[mask] = rows and x.index_add_(0, where, rows), as choices for all rows of x.

Loops over experts are made of these: `at, place = torch.where(picks == expert)`, then `y[at] += weights[at, place, None] *
module(x[at])`. The mask has a cell for each token and pick, so that several of its cells may write to one row.

Such loops ask whether a mask picks any row, `if mask.any():` or `if at.shape[0] == 0: continue`. The answer is that it does. A
write to the rows of a mask that picks none changes nothing, so the branch may be computed in any case if such a write is all that
comes of it. A mask of which it was asked and by which nothing is written is refused."""
import warnings

import torch

from . import picked
from .gradients import place_of_call
from .losses import ExportError, ExportWarning

CALLS = frozenset("setitem index_add index_put index_copy".split())


def arguments(name, args, kwargs):
    """The index, the value, and whether the value is added, of a call; None if it writes in another dimension than the first."""
    if name == "setitem":
        return args[1], args[2], False
    if name == "index_put":
        given = dict(zip(("indices", "values", "accumulate"), args[1:])) | kwargs
        return tuple(given["indices"]), given["values"], given.get("accumulate", False)
    given = dict(zip(("dim", "index", "source"), args[1:])) | kwargs
    if given["dim"] != 0:
        return None
    return given["index"], given["source"] * given["alpha"] if "alpha" in given else given["source"], name == "index_add"


def cells_of(value, mask, like):
    """The values of all cells of a mask (cells, and a row of `like`)."""
    rows = like.shape[1:]
    if isinstance(value, picked.Picked):
        if value.mask is not mask:
            picked.refuse("rows that one mask picks are written where another picks")
        value = value.rows
    elif not isinstance(value, torch.Tensor):
        value = torch.tensor(value, dtype=like.dtype, device=like.device)
    elif value.dim() > len(rows) and value.shape[0] != 1:
        picked.refuse("rows that no mask picks are written where one picks")
    return value.to(like.dtype).expand(mask.shape[0], *rows)


def last_of(mask):
    """A mask (rows, cells) with the last true cell of each row alone: of several writes to a row the last one stays."""
    behind = mask.long().flip(1).cumsum(1).flip(1)
    return mask & (behind == 1)


def written(picking, function, args, kwargs):
    """The tensor behind a write whose index or value is picked; None for other calls. A call that changes its operand does."""
    name, x = picked.name_of(function), args[0]
    if (given := arguments(name, args, kwargs)) is None:
        return None
    index, value, adds = given
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(parts[0], torch.Tensor) and parts[0].dtype == torch.bool and len(parts) == 1 and isinstance(value, picked.Picked):
        sizes, dims = parts[0].shape, list(range(parts[0].dim()))
        mask = picking.rows_of(parts[0])
    elif all(isinstance(part, picked.Picked) for part in parts):
        mask = picked.common_mask(name, parts)
        if (places := picked.places_of(parts, x)) is None:
            picked.refuse(f"'{name}' writes rows that a mask picks to places that the data tell")
        sizes, dims = places[0].sizes, [place.dim for place in places]
    elif picked.all_picked((*parts, value)):
        picked.refuse(f"'{name}' takes rows that a mask picks and others")
    else:
        return None
    picking.questions.written.append(mask)
    rest = x.shape[len(dims):]
    flat = x.reshape(-1, *rest)
    cells = cells_of(value, mask, flat)
    # The cells (rows of x, cells that write to the same row, a row).
    others = [dim for dim in range(len(sizes)) if dim not in dims]
    order, count = [*dims, *others], flat.shape[0]
    cells = cells.reshape(*sizes, *rest).permute(*order, *range(len(sizes), len(sizes) + len(rest))).reshape(count, -1, *rest)
    mask = mask.reshape(sizes).permute(order).reshape(count, -1)
    if not adds and others:
        mask = last_of(mask)
    total = torch.where(mask.reshape(*mask.shape, *[1] * len(rest)), cells, 0).sum(1)
    any_cell = mask.any(1).reshape(-1, *[1] * len(rest))
    made = (flat + total if adds else torch.where(any_cell, total, flat)).reshape(x.shape)
    changes = name == "setitem" or function.__name__.endswith("_")
    return x.copy_(made) if changes else made


def cells_of_loop(picking, count, shape, device):
    """All cells of a mask of one dimension, where a loop goes over those that nonzero() gives: its body writes the rows that
    picked a cell, and of others, as of an expert that no token picked, there are none."""
    written, place = len(picking.questions.written), place_of_call()
    for number in range(count):
        yield torch.tensor(number, device=device).reshape(shape)
    if len(picking.questions.written) == written:
        raise ExportError(f"a loop goes over the rows that a mask picks{place} and writes no rows, which cannot be exported: how many "
                          "there are is not known before the program runs; multiply by the mask, or choose with torch.where")
    picking.questions.loops.append(place)


# What a comparison of a count, of at least 1, with a number says.
COMPARISONS = {("eq", 0): False, ("ne", 0): True, ("gt", 0): True, ("ge", 1): True, ("lt", 1): False, ("le", 0): False}


class Questions:
    def __init__(self):
        # By the ids of tensors, which they hold so that no other gets it: a mask (rows), and the answer where it is one of yes and no.
        self.counts, self.truths = {}, {}
        self.open = []  # masks of which it was asked, and where
        self.written = []  # masks by which something was written
        self.loops = []  # where loops go over what a mask picks

    def count(self, tensor, mask):
        """`tensor` is how many rows a mask picks, or as many times a number."""
        self.counts[id(tensor)] = tensor, mask
        return tensor

    def note(self, name, args, kwargs, result, rows_of):
        """Remembers a call's result that says how many rows a mask picks, or whether it picks any."""
        if not args or kwargs or not isinstance(args[0], torch.Tensor):
            return
        if len(args) == 1 and args[0].dtype == torch.bool and name in ("any", "sum"):
            if name == "any":
                self.truths[id(result)] = result, rows_of(args[0]), True
            else:
                self.count(result, rows_of(args[0]))
        elif len(args) == 2 and id(args[0]) in self.counts and isinstance(args[1], int) and (name, args[1]) in COMPARISONS:
            self.truths[id(result)] = result, self.counts[id(args[0])][1], COMPARISONS[name, args[1]]

    def answer(self, tensor):
        """The truth of a tensor if it is such a question, else None."""
        _, mask, truth = self.truths.get(id(tensor), (None, *self.counts.get(id(tensor), (None, None))[1:], True))
        if mask is None:
            return None
        self.open.append((mask, place_of_call()))
        return truth

    def close(self):
        """Refuses a question about a mask by which nothing is written."""
        for mask, place in self.open:
            if not any(other is mask for other in self.written):
                raise ExportError(f"forward branches on what a tensor holds, which no trace knows{place}: choose by torch.where, or give a "
                                  "number that does not change as a plain number")
        for place in dict.fromkeys(self.loops):
            warnings.warn(f"forward loops over what a mask picks{place}: the file goes over all of it, and writes no row of what is not "
                          "picked", ExportWarning, stacklevel=2)
        for place in dict.fromkeys(place for _, place in self.open):
            warnings.warn(f"forward asks whether a mask picks any row{place}: the file computes as if it did, and writes no row if it "
                          "does not", ExportWarning, stacklevel=2)
