# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that the exporter translates into something else than PyTorch computes, without a word.

- cross_entropy: label_smoothing is left out. It is written out here.
- cross_entropy with class weights and smoothing: refused.
- cdist: there is no operator for it. It is written out.

An embedding's padding_idx is left out too; it changes the gradient only, and the manifest says it.
"""
import torch
import torch.nn.functional as F

from .losses import ExportError

CROSS_ENTROPY = torch.ops.aten.cross_entropy_loss.default
CDIST = torch.ops.aten.cdist.default
MEAN, SUM = 1, 2


def smoothed(logits, target, weight=None, reduction=MEAN, ignore_index=-100, label_smoothing=0.0):
    """cross_entropy_loss with smoothing, in terms of operations that export: https://arxiv.org/abs/1512.00567, eq. 2."""
    logs = F.log_softmax(logits, 1)
    hard = F.nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=("none", "mean", "sum")[reduction])
    if label_smoothing == 0.0:
        return hard
    if weight is not None or target.is_floating_point():
        raise ExportError("cross_entropy with label_smoothing and class weights (or probabilities as targets) "
                          "does not export; write the loss out")
    scored = (target != ignore_index).to(logits.dtype)
    spread = -logs.mean(1) * scored
    if reduction == MEAN:
        spread = spread.sum() / scored.sum()
    elif reduction == SUM:
        spread = spread.sum()
    return (1.0 - label_smoothing) * hard + label_smoothing * spread


def distances(x, y, p=2.0, compute_mode=None):
    """cdist: the p-norm of the difference of each row of x and each of y."""
    return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)


def lossy_calls(program):
    """What is to be written out, of what the program calls."""
    table = {}
    for node in program.graph.nodes:
        if node.op == "call_function" and node.target is CROSS_ENTROPY:
            if any(list(node.args[5:6]) + [node.kwargs.get("label_smoothing", 0.0)]):
                table[CROSS_ENTROPY] = smoothed
        if node.op == "call_function" and node.target is CDIST:
            table[CDIST] = distances
    return table


def rewrite_lossy_calls(program):
    """The same exported program, its lossy calls written out."""
    table = lossy_calls(program)
    return program.run_decompositions(table) if table else program
