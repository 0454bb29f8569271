# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The other side of a ReLU whose operand is nearer to zero than single precision can tell.

Both sides are right in single precision: the value is zero within its rounding, and the gradient is that of either side. A
run that took the other side differs from PyTorch's double precision by one cell's share of a gradient, often 1e-5.
"""
import torch
import torch.nn.functional as F

RELUS = (F.relu, torch.relu, torch.relu_, torch.Tensor.relu, torch.Tensor.relu_)
NEAR = 1e-6  # of the greatest operand
MOST = 6


class Kinks(torch.overrides.TorchFunctionMode):
    """Notes (distance, call, cell) of each ReLU's operand nearest to zero, and gives cell `flip` the other sign."""

    def __init__(self, flip=None):
        super().__init__()
        self.flip, self.calls, self.found = flip, 0, []

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if function not in RELUS:
            return function(*arguments, **(keywords or {}))
        x, call = arguments[0], self.calls
        self.calls += 1
        size = x.detach().abs().flatten()
        distance, cell = size.min(0)
        self.found.append((float(distance / size.max().clamp(min=1e-30)), call, int(cell)))
        if self.flip and self.flip[0] == call:
            twice = torch.zeros_like(size)
            twice[self.flip[1]] = 2 * x.detach().flatten()[self.flip[1]]
            x = x - twice.view(x.shape)
        return F.relu(x)


def other_sides(run):
    """What run() returns with one ReLU after the other on its other side, of those near zero, nearest first."""
    with Kinks() as kinks:
        run()
    for distance, call, cell in sorted(kinks.found)[:MOST]:
        if distance < NEAR:
            with Kinks((call, cell)):
                yield run()
