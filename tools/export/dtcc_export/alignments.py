# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ctc_loss, for which ONNX has no operator, written out as a sum over alignments: https://doi.org/10.1145/1143844.1143891.

The recursion takes one step after the other over the states of each sample, its labels with a blank before, between and
behind them. It is one call of the traced program, and a node of Scan in the file (scans.py). Its gradient is PyTorch's own,
which counts log_probs as a log_softmax: it adds exp(log_probs) to the derivative, which a log_softmax then removes.
"""
import contextlib

import torch
import torch.nn.functional as F

from .losses import ExportError, RowsOfData
from .operators import REPLACE

FAR = 1e30  # Stands for infinity, whose difference from itself is not a number.
MOST_STEPS = 3072  # dtcc writes the steps out, at most 65,536 nodes of a model: each step has 17.
MEAN, SUM = 1, 2


def log_sum(*terms):
    """log(sum(exp(terms))) of finite terms, with a gradient that is finite where all are far below zero."""
    high = terms[0]
    for term in terms[1:]:
        high = torch.maximum(high, term)
    high = high.detach()
    return high + torch.log(sum(torch.exp(term - high) for term in terms))


def walked(alpha, emitted, counted, passed):
    """The states' logarithms behind all steps. alpha [n, states] before the first; emitted [steps, n, states] of their labels;
    counted [steps, n, 1]; passed [n, states], 0 where the state but one before may come before, and -FAR elsewhere."""
    for emission, counts in zip(emitted, counted):
        before = F.pad(alpha, (2, 0), value=-FAR)
        moved = log_sum(alpha, before[:, 1:-1], before[:, :-2] + passed) + emission
        alpha = torch.where(counts, moved, alpha)
    return alpha


@torch.library.custom_op("dtcc::alignments", mutates_args=())
def alignments(start: torch.Tensor, emitted: torch.Tensor, counted: torch.Tensor, passed: torch.Tensor) -> torch.Tensor:
    return walked(start.clone(), emitted, counted, passed)


def gradients_of_alignments(context, gradient):
    start, emitted, counted, passed = context.saved_tensors
    with torch.enable_grad():
        operands = [each.detach().requires_grad_() for each in (start, emitted, passed)]
        found = torch.autograd.grad(walked(*operands[:2], counted, operands[2]), operands, gradient)
    return found[0], found[1], None, found[2]


alignments.register_fake(lambda start, *_: torch.empty_like(start))
alignments.register_autograd(gradients_of_alignments,
                             setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
ALIGNMENTS = torch.ops.dtcc.alignments.default


def rows_of(targets, lengths):
    """Labels as a matrix with a row a sample; a vector holds all samples' labels one after the other."""
    if targets.dim() == 2:
        return targets
    if not all(isinstance(length, int) for length in lengths):
        raise RowsOfData("ctc_loss exports with targets as a matrix, a row a sample, or with target_lengths that are numbers; "
                         "got a vector of targets, whose rows only the data tell")
    return torch.nn.utils.rnn.pad_sequence(targets.split(list(lengths)), batch_first=True)


def labels_at(mask, labels):
    """The labels of all samples that a mask picks, which labels[mask] has in a vector, as a matrix with these first in a row."""
    place = mask.long().cumsum(1) - 1
    is_there = (place[:, None] == torch.arange(mask.shape[1], device=mask.device)[:, None]) & mask[:, None]
    return torch.where(is_there, labels[:, None], 0).sum(2)


def as_tensor(lengths, like):
    """Lengths [n] as integers: a tensor, or numbers."""
    return (lengths if torch.is_tensor(lengths) else torch.tensor(lengths, device=like.device)).reshape(-1).to(torch.int64)


def losses_of(logs, labels, input_lengths, target_lengths, blank):
    """The loss of each sample, at least FAR / 2 where no alignment exists. logs [steps, n, classes], labels [n, length]."""
    placed = torch.arange(labels.shape[1], device=labels.device) < target_lengths[:, None]
    labels = torch.where(placed, labels.to(torch.int64), blank)  # what lies behind a sample's labels may be no class
    blanks = torch.full_like(labels, blank)
    states = torch.cat([torch.stack([blanks, labels], 2).flatten(1), labels.new_full((labels.shape[0], 1), blank)], 1)
    # A blank may be passed over between two labels that differ.
    passed = F.pad(torch.where(states[:, 2:] != states[:, :-2], 0.0, -FAR), (2, 0), value=-FAR).to(logs.dtype)
    emitted = logs.gather(2, states.expand(logs.shape[0], -1, -1)).clamp(min=-FAR)
    start = torch.arange(states.shape[1], device=logs.device).clamp(max=1).to(logs.dtype) * -FAR
    counted = torch.arange(logs.shape[0], device=logs.device)[:, None, None] < input_lengths[:, None]
    alpha = ALIGNMENTS(start.expand(states.shape), emitted, counted, passed)
    ends = alpha.gather(1, torch.stack([2 * target_lengths, (2 * target_lengths - 1).clamp(min=0)], 1))
    return -log_sum(ends[:, 0], torch.where(target_lengths > 0, ends[:, 1], -FAR))


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=MEAN, zero_infinity=False):
    """torch.ctc_loss."""
    single = log_probs.dim() == 2
    logs = log_probs.unsqueeze(1) if single else log_probs
    steps = logs.shape[0]
    if isinstance(steps, int) and steps > MOST_STEPS:
        raise ExportError(f"ctc_loss is written out step by step, number of steps must be at most {MOST_STEPS}, got: {steps}")
    labels = targets.reshape(1, -1) if single else rows_of(targets, target_lengths)
    input_lengths, target_lengths = as_tensor(input_lengths, logs), as_tensor(target_lengths, logs)
    each = losses_of(logs, labels, input_lengths, target_lengths, blank)
    counted = torch.arange(steps, device=logs.device)[:, None] < input_lengths
    path = each + (logs.exp().detach() * logs * counted.unsqueeze(-1)).sum((0, 2))
    each = torch.where(each.detach() < FAR / 2, REPLACE(each, path), 0.0 if zero_infinity else float("inf"))
    if reduction == MEAN:
        return (each / target_lengths.clamp(min=1)).mean()
    return each.sum() if reduction == SUM else each.squeeze(0) if single else each


@contextlib.contextmanager
def written_out():
    """While a module is traced, torch.ctc_loss, which F.ctc_loss and nn.CTCLoss call, is written out."""
    original, torch.ctc_loss = torch.ctc_loss, ctc_loss
    try:
        yield
    finally:
        torch.ctc_loss = original
