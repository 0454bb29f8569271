# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LOSSES of drawn modules: every loss of torch.nn.functional that has a gradient, drawn with its options.

Each takes a draw and returns a function of values [rows, n], ids [rows, length] and numbers [rows, 2], whose result is a scalar or
what the reduction "none" leaves.
"""
import torch
import torch.nn.functional as F

REDUCTIONS = ("mean", "mean", "sum", "none")


def noise(like, shift=0.0):
    """Numbers of the shape of `like`, the same in every run."""
    cells = torch.arange(like[0].numel(), dtype=like.dtype).reshape(like.shape[1:])
    return torch.sin(cells * 1.7 + shift)


def wanted(v, y):
    """Numbers of the shape of v that depend on the sample."""
    return noise(v) + y[:, :1]


def grouped(v):
    """Scores [rows, classes, positions]: two positions where they can be."""
    return v.reshape(v.shape[0], -1, 2) if v.shape[1] % 2 == 0 and v.shape[1] >= 4 else v[..., None]


def labels_of(scores, ids):
    """A class for every position."""
    return (ids[:, :1] + torch.arange(scores.shape[2])) % scores.shape[1]


def cross_entropy(draw):
    reduction, smoothing = draw.one(*REDUCTIONS), draw.one(0.0, 0.0, 0.1)
    weighed, ignored, soft = draw.one(True, False), draw.one(-100, 0, 1), draw.one(False, False, True)
    fixed = torch.linspace(0.5, 1.5, 64)

    def loss(v, ids, y):
        scores = grouped(v) * 2
        weight = fixed[:scores.shape[1]].to(v.dtype) if weighed else None
        if soft:
            return F.cross_entropy(scores, torch.softmax(noise(scores) + y[:, :1, None], 1), weight, reduction=reduction, label_smoothing=smoothing)
        return F.cross_entropy(scores, labels_of(scores, ids), weight, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing)
    return loss


def nll(draw):
    reduction, weighed, ignored = draw.one(*REDUCTIONS), draw.one(True, False), draw.one(-100, 0)
    fixed = torch.linspace(0.5, 1.5, 64)

    def loss(v, ids, y):
        scores = grouped(v)
        return F.nll_loss(F.log_softmax(scores, 1), labels_of(scores, ids), fixed[:scores.shape[1]].to(v.dtype) if weighed else None,
                          ignore_index=ignored, reduction=reduction)
    return loss


def divergence(draw):
    reduction, logarithm = draw.one("batchmean", *REDUCTIONS), draw.one(True, False)

    def loss(v, ids, y):
        target = F.log_softmax(wanted(v, y), 1)
        return F.kl_div(F.log_softmax(v, 1), target if logarithm else target.exp(), reduction=reduction, log_target=logarithm)
    return loss


def regression(draw):
    reduction, beta = draw.one(*REDUCTIONS), draw.one(1.0, 0.3)
    function = draw.one(lambda a, b: F.mse_loss(a, b, reduction=reduction), lambda a, b: F.l1_loss(a, b, reduction=reduction),
                        lambda a, b: F.huber_loss(a, b, reduction=reduction, delta=beta),
                        lambda a, b: F.smooth_l1_loss(a, b, reduction=reduction, beta=beta),
                        lambda a, b: F.smooth_l1_loss(a, b, reduction=reduction, beta=0.0),
                        lambda a, b: F.mse_loss(a, b, reduction=reduction, weight=b.abs() + 0.1),
                        lambda a, b: F.huber_loss(a, b, reduction=reduction, delta=beta, weight=b.abs() + 0.1))
    return lambda v, ids, y: function(v, wanted(v, y))


def binary(draw):
    reduction, weighed, positive, probabilities = draw.one(*REDUCTIONS), draw.one(True, False), draw.one(True, False), draw.one(True, False)

    def loss(v, ids, y):
        target = (wanted(v, y) > 0.2).to(v.dtype) * 0.9
        weight = noise(v) + 1.5 if weighed else None
        if probabilities:
            return F.binary_cross_entropy(torch.sigmoid(v), target, weight, reduction=reduction)
        return F.binary_cross_entropy_with_logits(v, target, weight, reduction=reduction, pos_weight=noise(v, 1) + 2 if positive else None)
    return loss


def signs(v, y):
    return torch.where(wanted(v, y) > 0, 1.0, -1.0).to(v.dtype)


def margins(draw):
    reduction, margin = draw.one(*REDUCTIONS), draw.one(0.1, 0.5, 1.0)
    power, weighed = draw.one(1, 2), draw.one(True, False)
    fixed = torch.linspace(0.5, 1.5, 5000)

    def several(v, ids, y):
        places = torch.full(v.shape, -1, dtype=torch.int64)
        places[:, 0] = 1
        return F.multilabel_margin_loss(v, places, reduction=reduction)

    def classes_of(v, ids, y):
        return F.multi_margin_loss(v, ids[:, 0] % v.shape[1], p=power, margin=margin, weight=fixed[:v.shape[1]].to(v.dtype) if weighed else None, reduction=reduction)

    function = draw.one(lambda v, ids, y: F.margin_ranking_loss(v, v.flip(1) * 0.5, signs(v, y), margin=margin, reduction=reduction),
                        lambda v, ids, y: F.hinge_embedding_loss(v, signs(v, y), margin=margin, reduction=reduction),
                        lambda v, ids, y: F.soft_margin_loss(v, signs(v, y), reduction=reduction),
                        lambda v, ids, y: F.multilabel_soft_margin_loss(v, (wanted(v, y) > 0).to(v.dtype), fixed[:v.shape[1]].to(v.dtype) if weighed else None,
                                                                        reduction=reduction),
                        classes_of, several)
    return lambda v, ids, y: function(v, ids, y)


def pairs(draw):
    reduction, margin, swap, power = draw.one(*REDUCTIONS), draw.one(0.2, 1.0), draw.one(True, False), draw.one(1.0, 2.0)
    function = draw.one(
        lambda v, ids, y: F.cosine_embedding_loss(v, wanted(v, y), signs(v, y)[:, 0], margin=margin - 0.2, reduction=reduction),
        lambda v, ids, y: F.triplet_margin_loss(v, wanted(v, y), noise(v, 2).expand_as(v) * 2, margin=margin, swap=swap, p=power, reduction=reduction),
        lambda v, ids, y: F.triplet_margin_with_distance_loss(v, wanted(v, y), v.flip(1), distance_function=lambda a, b: 1 - F.cosine_similarity(a, b),
                                                              margin=margin, swap=swap, reduction=reduction))
    return lambda v, ids, y: function(v, ids, y)


def counts(draw):
    reduction, full, logarithm = draw.one(*REDUCTIONS), draw.one(True, False), draw.one(True, False)

    def poisson(v, ids, y):
        target = (ids[:, :1] % 4).to(v.dtype) + (noise(v) > 0).to(v.dtype)
        return F.poisson_nll_loss(v if logarithm else v.square() + 0.1, target, log_input=logarithm, full=full, reduction=reduction)

    def gaussian(v, ids, y):
        variance = draw_of(v)
        return F.gaussian_nll_loss(v, wanted(v, y), variance, full=full, reduction=reduction)
    draw_of = draw.one(lambda v: v.square() + 0.1, lambda v: F.softplus(v[:, :1]), lambda v: torch.relu(v), lambda v: noise(v).abs().expand_as(v) + 0.2)
    function = draw.one(poisson, gaussian)
    return lambda v, ids, y: function(v, ids, y)


def connectionist(draw):
    """ctc_loss of short targets."""
    reduction, endless = draw.one(*REDUCTIONS), draw.one(True, False)

    def loss(v, ids, y):
        scores = v.reshape(v.shape[0], -1, 3) if v.shape[1] % 3 == 0 and v.shape[1] >= 9 else v[:, None, :].repeat(1, 4, 1)
        steps = F.log_softmax(scores, -1).transpose(0, 1)
        rows = v.shape[0]
        return F.ctc_loss(steps, 1 + ids[:, :1] % (steps.shape[-1] - 1), torch.full((rows,), steps.shape[0]), torch.ones(rows, dtype=torch.int64),
                          reduction=reduction, zero_infinity=endless)
    return loss


def contrast(draw):
    """Samples against each other, as CLIP."""
    def loss(v, ids, y):
        a, b = F.normalize(v, dim=1), F.normalize(wanted(v, y), dim=1)
        scores = a @ b.T * 3
        return (F.cross_entropy(scores, torch.arange(v.shape[0])) + F.cross_entropy(scores.T, torch.arange(v.shape[0]))) / 2
    return loss


LOSSES = {"cross entropy": cross_entropy, "cross entropy again": cross_entropy, "nll": nll, "divergence": divergence, "regression": regression,
          "binary": binary, "margins": margins, "margins again": margins, "pairs": pairs, "counts": counts, "ctc": connectionist,
          "contrast": contrast}
