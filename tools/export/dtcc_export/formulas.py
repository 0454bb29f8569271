# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions and statistics written out by their formulas, because the exporter has none for them or one with another gradient.

- xlogy, xlog1py: the exporter's form sends the gradient 1 to a first operand that is 0, where PyTorch's is the logarithm.
- soft_margin_loss: the exporter's logarithm of a sum loses its tail.
- lgamma, mvlgamma, digamma: Stirling's series of an operand of at least 3.5, to which a recurrence and, below 0.5, a reflection
  lead. In single precision values and derivatives are within 1.5e-6 of 1 + their size.
- amax, amin and aminmax of all cells: the exporter's form asks for a dimension.
- cov and corrcoef, which no trace takes (forms.py).
- randperm: the order of random numbers. normal: a sum with random numbers, which passes no gradient.
"""
import math

import torch
import torch.nn.functional as F

from .operators import STOP

aten = torch.ops.aten


def of_one_type(x, y):
    """Two operands, of which one may be a number, as tensors of the floating type of their product."""
    dtype = torch.result_type(x, y)
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    device = (x if torch.is_tensor(x) else y).device
    return (value.to(dtype) if torch.is_tensor(value) else torch.full((), value, dtype=dtype, device=device) for value in (x, y))


def product_with_log(log, pole):
    """x * log(y), which is 0 where x is 0 and log(y) infinite or undefined."""
    def written(x, y):
        x, y = of_one_type(x, y)
        zero = (x == 0) & ((y <= pole) | (y == math.inf))
        return torch.where(zero, 0.0, x * log(torch.where(zero, pole + 1.0, y)))
    return written


def soft_margin(x, target, reduction=1):
    """soft_margin_loss: log(1 + exp(-x target)), as a softplus."""
    losses = -F.logsigmoid(x * target)
    return losses if reduction == 0 else losses.mean() if reduction == 1 else losses.sum()


def beyond_poles(x):
    """(reflected, z, w): whether x is below 0.5, x or there 1 - x, and z + 3 where z is below 8."""
    reflected = x < 0.5
    z = torch.where(reflected, 1 - x, x)
    return reflected, z, torch.where(z < 8, z + 3, z)


def turns(x, reflected):
    """pi times the distance of x from the next integer, where x is reflected; elsewhere a number with a tangent."""
    return math.pi * torch.where(reflected, x - torch.round(x), 0.25)


def log_gamma(x):
    x = of_floats(x)
    reflected, z, w = beyond_poles(x)
    inverse = 1 / w
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    low = torch.where(z < 8, z, 1.0)
    value = w * (torch.log(w) - 1) - 0.5 * torch.log(w) + 0.5 * math.log(2 * math.pi) + series
    value = value - torch.where(z < 8, torch.log(low * (low + 1) * (low + 2)), 0.0)
    return torch.where(reflected, math.log(math.pi) - torch.log(torch.sin(turns(x, reflected)).abs()) - value, value)


def digamma(x):
    x = of_floats(x)
    reflected, z, w = beyond_poles(x)
    square = 1 / (w * w)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    low = torch.where(z < 8, z, 1.0)
    value = torch.log(w) - 0.5 / w - series - torch.where(z < 8, 1 / low + 1 / (low + 1) + 1 / (low + 2), 0.0)
    return torch.where(reflected, value - math.pi / torch.tan(turns(x, reflected)), value)


def log_gamma_of_matrices(x, p):
    return p * (p - 1) / 4 * math.log(math.pi) + sum(log_gamma(x - each / 2) for each in range(p))


def of_floats(x):
    return x if x.is_floating_point() else x.to(torch.get_default_dtype())


def extreme(of):
    """amax or amin, of all cells where no dimension is given."""
    def written(x, dim=(), keepdim=False):
        return NotImplemented if list(dim) or not x.dim() else of(x, list(range(x.dim())), keepdim)
    return written


def least_and_greatest(x, *, dim=None, keepdim=False):
    dim = list(range(x.dim())) if dim is None else [dim]
    return x.amin(dim, keepdim), x.amax(dim, keepdim)


def covariance(x, *, correction=1, fweights=None, aweights=None):
    """cov of the rows of x. Weights count or scale the columns."""
    x = of_floats(x.reshape(1, -1) if x.dim() < 2 else x)
    weights = torch.ones_like(x[0])
    for given in (fweights, aweights):
        weights = weights if given is None else weights * given
    total = weights.sum()
    lost = correction if aweights is None else correction * (weights * aweights).sum() / total
    from_mean = x - (x * weights).sum(1, keepdim=True) / total
    return ((from_mean * weights) @ from_mean.T / (total - lost).clamp(min=0)).squeeze()


def correlation(x):
    products = covariance(x)
    if not products.dim():
        return products / products
    deviations = products.diagonal().sqrt()
    return (products / deviations[:, None] / deviations).clamp(-1, 1)


def permutation(count, *, dtype=None, layout=None, device=None, pin_memory=None):
    return torch.rand(count, device=device).argsort().to(dtype or torch.int64)


def around_mean(mean, std=1.0, generator=None):
    mean, std = of_one_type(mean, std)
    return STOP(mean + std * torch.randn_like(mean + std))


XLOGY, XLOG1PY = product_with_log(torch.log, 0), product_with_log(torch.log1p, -1)
CALLS = {**{getattr(aten.xlogy, overload): XLOGY for overload in ("Tensor", "Scalar_Self", "Scalar_Other")},
         **{getattr(call, overload): written for call, written in ((aten.special_xlogy, XLOGY), (aten.special_xlog1py, XLOG1PY))
            for overload in ("default", "self_scalar", "other_scalar")},
         **{getattr(aten.normal, overload): around_mean for overload in ("Tensor_float", "float_Tensor", "Tensor_Tensor")},
         aten.soft_margin_loss.default: soft_margin, aten.lgamma.default: log_gamma, aten.special_gammaln.default: log_gamma,
         aten.mvlgamma.default: log_gamma_of_matrices, aten.special_multigammaln.default: log_gamma_of_matrices,
         aten.digamma.default: digamma, aten.special_digamma.default: digamma, aten.special_psi.default: digamma,
         aten.amax.default: extreme(torch.amax), aten.amin.default: extreme(torch.amin), aten.aminmax.default: least_and_greatest,
         aten.randperm.default: permutation}
