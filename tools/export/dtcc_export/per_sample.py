# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask picks and forward puts back into a batch: x[mask].reshape(batch, -1, channels), as masked autoencoders do.

The mask picks the same number k of rows in each sample, so the result has a shape that is known, and what follows computes k rows
a sample. k is the count in the example inputs: a run of the module on them measures it before the module is traced again.

PyTorch raises at the reshape if a mask picks another number. A compiled program cannot raise, so the loss and with it all gradients
become NaN: the program leaves the step out and names it. NaN in the rows alone would not do: rows may be integers, and a condition
behind them may drop a NaN.

The rows are a product with flags [sample, k, row], because a product keeps samples apart: dtcc can then split the batch over ranks
and micro-batches. A gather by sample would be flattened to one over all samples.
"""
import functools
import itertools

import torch

from .gradients import place_of_call
from .losses import ExportError

MOST_PAIRS = 1 << 26  # of picked rows and rows in a sample: the flags are a matrix


class Uncounted(Exception):
    """A trace needs the number of rows that a mask picks in a sample, which no run has measured yet."""


class Samples:
    """The masks that pick the same number of rows in each sample, in one trace of a module or in one run of it."""

    def __init__(self, counts=None, measures=False):
        """`counts`: the numbers of rows, in the order of the calls, which a run that `measures` has found."""
        self.counts = None if counts is None else itertools.cycle(counts)  # a trace may run forward more than once
        self.measures, self.measured = measures, []
        self.flags, self.checks = {}, []

    def count(self, mask, name):
        """The number of rows that `mask` [sample, row] picks in each sample."""
        if self.counts is not None:
            return next(self.counts)
        if not self.measures:
            raise Uncounted
        least, most = (int(extreme) for extreme in torch.aminmax(mask.sum(1)))
        if least < most or not least:
            found = f"{least} rows in one sample of the example inputs and {most} in another" if most else "no row of the example inputs"
            raise ExportError(f"'{name}' makes samples of rows that a mask picks{place_of_call()}, which can be exported only if "
                              f"each sample has the same number of rows: the mask picks {found}; give example inputs with equal "
                              "numbers, or multiply by the mask")
        self.measured.append(least)
        return least

    def flags_of(self, mask, name):
        """Flags [sample, k, row]: whether a row is the k-th that `mask` [sample, row] picks."""
        count, rows = self.count(mask, name), mask.shape[1]
        if isinstance(rows, int) and count * rows > MOST_PAIRS:
            raise ExportError(f"'{name}' makes samples of {count} of {rows} rows that a mask picks{place_of_call()}, which are "
                              "too many to export; let the mask pick rows instead of cells")
        self.checks.append((mask, count))
        places = torch.arange(1, count + 1, dtype=torch.float32, device=mask.device)
        return (mask.to(torch.float32).cumsum(1)[:, None] == places[:, None]) & mask[:, None]

    def batch(self, rows, mask, samples, name):
        """The rows that a mask picks, as [sample, k, cell]. `rows`: all rows, one after the other. `mask`: the mask as forward
        gave it, whose cells are rows of one sample after the other."""
        key = id(mask), str(samples)
        if key not in self.flags:
            leading = mask.dim()
            while leading > 1 and mask.stride(leading - 1) == 0:  # a mask of rows that is expanded over their cells
                leading -= 1
            by_row = mask[(..., *[0] * (mask.dim() - leading))].reshape(samples, -1)
            self.flags[key] = mask, by_row, self.flags_of(by_row, name)
        _, by_row, flags = self.flags[key]
        rows = rows.reshape(samples, by_row.shape[1], -1)
        if not rows.is_floating_point():
            return torch.where(flags[..., None], rows[:, None], 0).sum(2).to(rows.dtype)
        # A row that is not picked may hold anything, and zero times anything need not be zero.
        return flags.to(rows.dtype) @ torch.where(by_row[..., None], rows, 0)

    def checked(self, loss):
        """The loss, or NaN if a mask picks another number of rows in a sample than in the example."""
        checks, self.checks, self.flags = self.checks, [], {}
        if not checks:
            return loss
        is_right = functools.reduce(torch.logical_and, [(mask.to(torch.float32).sum(1) == count).all() for mask, count in checks])
        return loss * torch.where(is_right, 1.0, torch.nan).to(loss.dtype)
