# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions that ONNX has no operator for, by published approximations, with PyTorch's gradients: the approximation of a
function is no approximation of its derivative.

- erfinv: Giles, Approximating the erfinv function, GPU Computing Gems 2, 2012, table 5 (single precision).
- ndtri: Wichura, Algorithm AS 241, https://doi.org/10.2307/2347330, PPND7.
- i0, i0e, i1, i1e: Abramowitz and Stegun, Handbook of Mathematical Functions, 9.8.1 to 9.8.4.

In single precision values are within 1e-6 of their size.
"""
import math

import torch

from .operators import REPLACE, STOP

aten = torch.ops.aten
ERFINV_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
               0.246640727, 1.50140941)
ERFINV_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
              1.00167406, 2.83297682)
NDTRI_NEAR = (59.109374720, 159.29113202, 50.434271938, 3.3871327179), (67.187563600, 78.757757664, 17.895169469, 1.0)
NDTRI_FAR = (0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777), (0.12021132975, 0.73700164250, 1.0)
NDTRI_END = (0.017337203997, 0.42868294337, 3.0812263860, 6.6579051150), (0.012258202635, 0.24197894225, 1.0)
I0_NEAR = (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
I0_FAR = (0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281, -0.00157565, 0.00225319, 0.01328592, 0.39894228)
I1_NEAR = (0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5)
I1_FAR = (-0.00420059, 0.01787654, -0.02895312, 0.02282967, -0.01031555, 0.00163801, -0.00362018, -0.03988024, 0.39894228)
I_FROM = 3.75


def of_floats(x):
    return x if x.is_floating_point() else x.to(torch.get_default_dtype())


def polynomial(x, coefficients):
    """The highest power's coefficient stands first."""
    value = coefficients[0]
    for each in coefficients[1:]:
        value = value * x + each
    return value


def quotient(x, polynomials):
    return polynomial(x, polynomials[0]) / polynomial(x, polynomials[1])


def with_slope(value, derivative):
    """A function whose gradient is `derivative`, which takes the operand and the function's value."""
    def written(x):
        x = of_floats(x)
        still = STOP(x)
        result = value(still)
        return REPLACE(result, STOP(derivative(still, result)) * x)
    return written


def inverse_error(x):
    distance = -torch.log((1 - x) * (1 + x))
    near = torch.where(distance < 5, distance, 0.0) - 2.5
    far = torch.sqrt(torch.where((distance >= 5) & (distance < math.inf), distance, 5.0)) - 3
    value = torch.where(distance < 5, polynomial(near, ERFINV_NEAR), polynomial(far, ERFINV_FAR)) * x
    # The distance of a number beyond -1 or 1 is none.
    return torch.where(x.abs() < 1, value, torch.where(x.abs() == 1, x * math.inf, math.nan))


def normal_quantile(p):
    from_middle = p - 0.5
    is_near = from_middle.abs() <= 0.425
    q = torch.where(is_near, from_middle, 0.0)
    near = q * quotient(0.180625 - q * q, NDTRI_NEAR)
    is_far = ~is_near & (p > 0) & (p < 1)
    r = torch.sqrt(-torch.log(torch.where(is_far, torch.where(from_middle < 0, p, 1 - p), 0.05)))
    far = torch.where(r <= 5, quotient(r - 1.6, NDTRI_FAR), quotient(r - 5, NDTRI_END))
    far = torch.where(from_middle < 0, -far, far)
    limit = torch.where(p == 0, -math.inf, torch.where(p == 1, math.inf, math.nan))
    return torch.where(is_near, near, torch.where(is_far, far, limit))


def bessel(near, far, odd, scaled):
    """The modified Bessel function of order 0 or, where `odd`, 1; times exp(-|x|) where `scaled`."""
    def value(x):
        size = x.abs()
        is_near = size <= I_FROM
        low, high = torch.where(is_near, size, 0.0), torch.where(is_near, I_FROM, size)
        below = polynomial((low / I_FROM).square(), near) * (x if odd else 1)
        above = polynomial(I_FROM / high, far) / torch.sqrt(high) * (torch.sign(x) if odd else 1)
        if scaled:
            return torch.where(is_near, below * torch.exp(-low), above)
        # Half the power, twice: the whole one is infinite where the function is not.
        half = torch.exp(high / 2)
        return torch.where(is_near, below, above * half * half)
    return value


def by_size(x, y):
    """y / x, and at 0 its limit of an odd function with the slope 0.5."""
    return torch.where(x == 0, 0.5, y / torch.where(x == 0, 1.0, x))


I0, I0E = bessel(I0_NEAR, I0_FAR, False, False), bessel(I0_NEAR, I0_FAR, False, True)
I1, I1E = bessel(I1_NEAR, I1_FAR, True, False), bessel(I1_NEAR, I1_FAR, True, True)
ERFINV = with_slope(inverse_error, lambda x, y: math.sqrt(math.pi) / 2 * torch.exp(y * y))
NDTRI = with_slope(normal_quantile, lambda x, y: math.sqrt(2 * math.pi) * torch.exp(y * y / 2))
CALLS = {aten.erfinv.default: ERFINV, aten.special_erfinv.default: ERFINV, aten.special_ndtri.default: NDTRI,
         **dict.fromkeys((aten.i0.default, aten.special_i0.default), with_slope(I0, lambda x, y: I1(x))),
         aten.special_i0e.default: with_slope(I0E, lambda x, y: I1E(x) - torch.sign(x) * y),
         aten.special_i1.default: with_slope(I1, lambda x, y: I0(x) - by_size(x, y)),
         aten.special_i1e.default: with_slope(I1E, lambda x, y: I0E(x) - by_size(x, y) - torch.sign(x) * y)}
