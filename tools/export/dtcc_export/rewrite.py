# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that the exporter translates into something else than PyTorch computes, without a word, or into what does not train.

- cross_entropy: label_smoothing is left out, and targets that are probabilities are taken for classes. Both are written out here.
- scatter_reduce by means: the last write stays instead. It is written out as a sum over a count.
- avg_pool2d, avg_pool3d: divisor_override is left out. It is written out as a factor.
- cdist: there is no operator for it. It is written out.
- embedding_bag: it becomes a loop over sequences. It is written out, as a sum over the words of each bag.
- torch._check of a tensor: the assertion goes, but what it asks stays, for which there is no operator. Both go here.
- masked_scatter: the places become the cells that are not zero, whose number no shape tells. It is written out by counting.
- std, std_mean: they become the root of a variance, which has no gradient at 0, where theirs is 0. They are written out as norms.
- sinc: it becomes a quotient, which has no gradient at 0, where its own is 0. It is written out with another divisor there.

- embedding: scale_grad_by_freq is left out. It is refused.

An embedding's padding_idx is left out too; it changes the gradient only, and the manifest says it.
"""
import math

import torch
import torch.nn.functional as F

from .backward import of_vmap
from .losses import ExportError
from .untranslated import all_calls, copy_starts, put_tensors_first, untranslated_calls

CROSS_ENTROPY = torch.ops.aten.cross_entropy_loss.default
SCATTER_REDUCE = torch.ops.aten.scatter_reduce.two
AVERAGE_POOLS = {torch.ops.aten.avg_pool2d.default: 2, torch.ops.aten.avg_pool3d.default: 3}
CDIST = torch.ops.aten.cdist.default
EMBEDDING = torch.ops.aten.embedding.default
EMBEDDING_BAG = torch.ops.aten.embedding_bag.padding_idx
MASKED_SCATTER = torch.ops.aten.masked_scatter.default
SINC = torch.ops.aten.sinc.default
SPECIAL_SINC = torch.ops.aten.special_sinc.default
STD = [getattr(torch.ops.aten.std, overload) for overload in ("default", "dim", "correction")]
STD_MEAN = [getattr(torch.ops.aten.std_mean, overload) for overload in ("default", "dim", "correction")]
CHECKS = {torch.ops.aten._assert_async.default, torch.ops.aten._assert_async.msg, torch.ops.aten._assert_scalar.default,
          torch.ops.aten._assert_tensor_metadata.default, torch.ops.aten.sym_constrain_range_for_size.default}
NONE, MEAN, SUM = 0, 1, 2


def smoothed(logits, target, weight=None, reduction=MEAN, ignore_index=-100, label_smoothing=0.0):
    """cross_entropy_loss with smoothing, in terms of operations that export: https://arxiv.org/abs/1512.00567, eq. 2."""
    axis = min(logits.dim() - 1, 1)
    logs = F.log_softmax(logits, axis)
    if target.is_floating_point():
        wanted = target * (1.0 - label_smoothing) + label_smoothing / logits.shape[axis]
        if weight is not None:
            wanted = wanted * weight.reshape(-1, *(1,) * (logits.dim() - axis - 1))
        losses = -(wanted * logs).sum(axis)
        return losses if reduction == NONE else losses.mean() if reduction == MEAN else losses.sum()
    hard = F.nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=("none", "mean", "sum")[reduction])
    if label_smoothing == 0.0:
        return hard
    scored = (target != ignore_index).to(logits.dtype)
    if weight is None:
        spread, shares = -logs.mean(axis) * scored, scored
    else:
        spread = -(logs * weight.reshape(-1, *(1,) * (logits.dim() - axis - 1))).mean(axis) * scored
        shares = weight[torch.where(target != ignore_index, target, 0)] * scored
    if reduction == MEAN:
        spread = spread.sum() / shares.sum()
    elif reduction == SUM:
        spread = spread.sum()
    return (1.0 - label_smoothing) * hard + label_smoothing * spread


def scatter_mean(x, dim, index, source, reduce, *, include_self=True):
    """scatter_reduce by means: the sum of what goes to a cell over the number of it. Other reductions have an operator."""
    if reduce != "mean":
        return NotImplemented
    if not x.is_floating_point():
        raise ExportError("scatter_reduce of integers by means does not export; give it floats")
    count = torch.zeros_like(x).scatter_add(dim, index, torch.ones_like(source))
    if include_self:
        return x.scatter_add(dim, index, source) / (count + 1)
    return torch.where(count > 0, torch.zeros_like(x), x).scatter_add(dim, index, source) / count.clamp(min=1)


def average_pool(of, dimensions):
    """A form of avg_pool2d or avg_pool3d with another divisor: the mean of whole windows, times a factor."""
    def pool(x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        if divisor_override is None:
            return NotImplemented
        if ceil_mode:
            raise ExportError("an average pool with divisor_override and ceil_mode does not export; leave one out")
        cells = math.prod(kernel) if len(kernel) > 1 else kernel[0] ** dimensions
        return of(x, kernel, stride, padding, False, True) * (cells / divisor_override)
    return pool


def distances(x, y, p=2.0, compute_mode=None):
    """cdist: the p-norm of the difference of each row of x and each of y."""
    return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)


def deviation_and_mean(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """std_mean: the norm of the distances from the mean, over the root of their number less the correction."""
    if isinstance(dim, bool):  # the overload without dimensions
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased else 0
    axes = list(range(x.dim())) if dim is None or dim == [] else dim
    mean = x.mean(axes, keepdim=True)
    count = math.prod(x.shape[axis] for axis in axes)
    if isinstance(count, torch.SymInt):
        divisor = (torch.ones_like(x).sum(axes, keepdim=keepdim) - correction).clamp(min=0).sqrt()
    else:
        divisor = max(count - correction, 0) ** 0.5
    return torch.linalg.vector_norm(x - mean, 2, axes, keepdim) / divisor, mean if keepdim else mean.squeeze(axes)


def deviation(*arguments, **named):
    return deviation_and_mean(*arguments, **named)[0]


def cardinal_sine(x):
    """sinc: sin(pi x) / (pi x), and 1 at 0."""
    zero = x == 0
    angle = math.pi * torch.where(zero, 1.0, x)
    return torch.where(zero, 1.0, torch.sin(angle) / angle)


def masked_scatter(x, mask, source):
    """masked_scatter: where the mask holds, the cells of source one after the other. Dimensions at the end over which the
    mask does not vary, as where an image's features stand for words, move as rows."""
    lead, aligned = x.dim(), mask.reshape((1,) * (x.dim() - mask.dim()) + tuple(mask.shape))
    while lead and source.dim() > x.dim() - lead and source.shape[lead - x.dim() - 1] == x.shape[lead - 1] and (
            aligned.shape[lead - 1] == 1 or aligned.stride(lead - 1) == 0):
        lead -= 1
    rows, width = x.shape[:lead], x.shape[lead:]
    held = aligned[(..., *(0,) * (x.dim() - lead))].expand(rows).reshape(-1)
    places = (held.to(torch.int64).cumsum(0) - 1).clamp(min=0)
    picked = source.reshape(-1, *width).index_select(0, places).reshape(x.shape)
    return torch.where(aligned, picked, x)


def bags(weight, words, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
         include_last_offset=False, padding_idx=None):
    """embedding_bag: the sum (mode 0), mean (1) or maximum (2) of each bag's embeddings. `words` is a matrix with a bag in
    each row (see with_bags_as_rows), or all bags one after the other."""
    if scale_grad_by_freq:
        raise ExportError("embedding_bag with scale_grad_by_freq does not export; leave it out")
    rows = F.embedding(words, weight)
    kept = torch.ones_like(words) if padding_idx is None else (words != padding_idx).to(words.dtype)
    kept = kept.to(weight.dtype).unsqueeze(-1)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(words.shape).unsqueeze(-1)
    if words.dim() == 2:
        count = kept.sum(1)
        total = (rows * kept).sum(1) if mode != 2 else rows.amax(1) if padding_idx is None else torch.where(
            count > 0, torch.where(kept > 0, rows, -math.inf).amax(1), 0.0)
    else:
        if mode == 2:
            raise ExportError("embedding_bag with mode 'max' and offsets does not export; give it a matrix of words")
        starts = offsets[:-1] if include_last_offset else offsets
        bag = (torch.arange(words.shape[0])[:, None] >= starts).to(torch.int64).sum(1) - 1
        zeros = weight.new_zeros(starts.shape[0], weight.shape[1])
        total, count = zeros.index_add(0, bag, rows * kept), zeros[:, :1].index_add(0, bag, kept)
    # The other three results serve PyTorch's own gradient.
    return (total / count.clamp(min=1) if mode == 1 else total), words, words, words


def with_bags_as_rows(program):
    """Gives calls of embedding_bag the matrix of words that they were written with, which F.embedding_bag has made a vector
    with offsets of one distance."""
    aten = torch.ops.aten
    for node in program.graph.nodes:
        if node.op != "call_function" or node.target is not EMBEDDING_BAG:
            continue
        words, offsets = node.args[1:3]
        if words.target is not aten.reshape.default or offsets.target is not aten.arange.start_step:
            continue
        start, _, step = offsets.args
        width = words.args[0].meta["val"].shape[-1]
        # Sizes are numbers or symbols, for which == would ask a question of the trace.
        step = step.meta["val"] if isinstance(step, torch.fx.Node) else step
        if words.args[0].meta["val"].dim() == 2 and list(words.args[1]) == [-1] and start == 0 and str(step) == str(width):
            node.args = (node.args[0], words.args[0], offsets, *node.args[3:])


def lossy_calls(program):
    """What is to be written out, of what the program calls."""
    table = {}
    for node in all_calls(program):
        if node.target is CROSS_ENTROPY:
            smoothing = any(list(node.args[5:6]) + [node.kwargs.get("label_smoothing", 0.0)])
            if smoothing or node.args[1].meta["val"].is_floating_point():
                table[CROSS_ENTROPY] = smoothed
        if node.target in (SCATTER_REDUCE, torch.ops.aten.scatter_reduce_.two) and \
                "mean" in node.args:
            table[SCATTER_REDUCE] = scatter_mean
        if node.target in AVERAGE_POOLS and \
                any(list(node.args[6:7]) + [node.kwargs.get("divisor_override")]):
            table[node.target] = average_pool(node.target, AVERAGE_POOLS[node.target])
        if node.target is EMBEDDING and any(
                list(node.args[3:4]) + [node.kwargs.get("scale_grad_by_freq")]):
            raise ExportError("an embedding with scale_grad_by_freq does not export; leave it out")
        if node.target is CDIST:
            table[CDIST] = distances
        if node.target in (MASKED_SCATTER, torch.ops.aten.masked_scatter_.default):
            table[MASKED_SCATTER] = masked_scatter
        if node.target in (SINC, SPECIAL_SINC):
            table[node.target] = cardinal_sine
        if node.target in STD:
            table[node.target] = deviation
        if node.target in STD_MEAN:
            table[node.target] = deviation_and_mean
        if node.target is EMBEDDING_BAG:
            with_bags_as_rows(program)
            table[EMBEDDING_BAG] = bags
    return table


def drop_checks(program):
    """Removes what forward checks of its values (torch._check), and what only the checks read: the exporter drops the
    assertions alone, and then knows no operator for the question."""
    for node in reversed(program.graph.nodes):
        if node.op != "call_function" or node.users or isinstance(node.target, torch._ops.HigherOrderOperator):
            continue
        if of_vmap(node):
            continue
        if node.target in CHECKS or not (hasattr(node.target, "_schema") and node.target._schema.is_mutable):
            program.graph.erase_node(node)
    program.graph_module.recompile()


def rewrite_lossy_calls(program):
    """The same exported program, its lossy and untranslated calls written out and its checks removed."""
    drop_checks(program)
    put_tensors_first(program)
    copy_starts(program)
    table = {**untranslated_calls(program), **lossy_calls(program)}
    return program.run_decompositions(table) if table else program
