# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes of random graphs as older operator sets write them: what became an operand is an attribute there."""
import functools

import onnx
import torch

SETS = [7, 8, 9, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22]
# Of an operand of integers: the set since which it is one, and the attribute before.
AXES = {"ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13, **{f"Reduce{kind}": 18 for kind in (
    "L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")}}
MODES = {"linear": "bilinear", "cubic": "bicubic"}


class Newer(Exception):
    """The operator set does not have such a node."""


@functools.lru_cache(maxsize=None)
def schema(kind, opset):
    try:
        return onnx.defs.get_schema(kind, opset)
    except onnx.defs.SchemaError:
        raise Newer


def form(kind, operands, attributes, opset, constants):
    """The operands and attributes of a node in an operator set."""
    def cells(at):
        """The cells of a known operand, or None where there is none."""
        if at >= len(operands) or operands[at] is None:
            return None
        if operands[at] not in constants:
            raise Newer
        return operands[at].cells.tolist()
    def become(**made):
        return operands[:1], {**attributes, **{name: value for name, value in made.items() if value is not None}}
    if opset < AXES.get(kind, 0):
        operands, attributes = become(axes=cells(1))
    elif kind == "Split" and opset < 13:
        operands, attributes = become(split=cells(1))
    elif kind == "Pad" and opset < 11:
        operands, attributes = become(pads=cells(1), value=cells(2))
    elif kind == "Clip" and opset < 11:
        operands, attributes = become(min=cells(1), max=cells(2))
    elif kind == "Slice" and opset < 10:
        if cells(4) not in (None, [1]):
            raise Newer
        operands, attributes = become(starts=cells(1), ends=cells(2), axes=cells(3))
    elif kind == "TopK" and opset < 10:
        operands, attributes = become(k=cells(1)[0])
        if attributes.pop("largest", 1) != 1:
            raise Newer
    elif kind == "DFT" and opset < 20:
        operands, attributes = operands[:2], {**attributes, "axis": cells(2)}
    elif kind == "GridSample" and opset < 20:
        attributes = {**attributes, "mode": MODES.get(attributes["mode"], attributes["mode"])}
    elif kind == "Pad" and opset < 19 and attributes["mode"] == "wrap" or kind == "GroupNormalization" and opset < 21:
        raise Newer
    elif kind in ("ScatterElements", "ScatterND") and opset < 18:
        if attributes.get("reduction", "none") in ("max", "min"):
            raise Newer
        if opset < 16 and attributes.get("reduction", "none") == "none":
            attributes = {name: value for name, value in attributes.items() if name != "reduction"}
    found = schema(kind, opset)
    if found.deprecated or len(operands) > found.max_input or not set(attributes) <= set(found.attributes):
        raise Newer
    return operands, attributes


def meaning(kind, compute, attributes, opset):
    """The function of a node, which may mean something else in an operator set."""
    if opset >= 13 or kind not in ("Softmax", "LogSoftmax"):
        return compute
    function = torch.softmax if kind == "Softmax" else torch.log_softmax
    return lambda x: function(x.flatten(attributes["axis"] % x.dim()), -1).reshape(x.shape)  # of all dimensions from `axis` on
