#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model that computes at edges; against_reference.py says how it is called.

Integers divided by 0 and by the cells of a row that fills no vector, numbers whose rounding must not round twice, zeros to the power of a
parameter and to powers from 0 on, sums of exponentials of rows that are masked whole, bounds far from 0, the largest of small bytes,
and tables of a rotary embedding, which do not train.
"""
import against_reference
import numpy as np
from onnx import TensorProto, helper, numpy_helper

INPUTS = {"x": np.array([[0, 50], [-3, 15], [0.5, 2], [-30, 0]], np.float32),
          "near": np.array([[0.49999997, 8388609], [-0.49999997, 2.5], [0.5, 1.5], [-2.5, 4194305.5]], np.float32),
          "masked": np.array([[-np.inf, -np.inf], [1, 2], [3, -np.inf], [0, 0]], np.float32),
          "top": np.array([[7, 9, 5], [1, 2, 3], [9, 8, 9], [4, 4, 4]]),
          "bottom": np.array([[2, 0, 3], [1, 1, 2], [4, 3, 2], [0, 2, 1]]),
          "bytes": np.full((4, 3), -110, np.int8), "places": np.array([[0, 1], [2, 2], [1, 1], [0, 2]]),
          "written": np.array([[-120, -100], [-101, -105], [-90, -80], [-127, -99]], np.int8)}


def parameters():
    random = np.random.default_rng(3)
    return {name: 0.5 + random.random(shape) for name, shape in
            (("ids", (3,)), ("others", (3,)), ("near_by", (2,)), ("bases", (2,)), ("exponents", (2,)), ("rows", (1,)),
             ("bounded", (2,)), ("gate", (2,)), ("larger", (3,)), ("turned", (2,)))}


def model(values, kind):
    """The graph with parameters `values` in type `kind`: a scalar loss."""
    dtype = np.float32 if kind == TensorProto.FLOAT else np.float64
    numbers = {"zero": 0, "half": 0.5, "low": -10, "high": 10, "most": 20, "two": 2, "small": 1 / 128}
    nodes, made = [], iter(range(1000))

    def op(name, *inputs, **attributes):
        result = f"v{next(made)}"
        nodes.append(helper.make_node(name, inputs, [result], name=f"{name}_{result}", **attributes))
        return result

    def cast(value):
        return op("Cast", value, to=kind)

    x, near, masked = (cast(name) for name in ("x", "near", "masked"))
    terms = [op("Mul", cast(op("Div", "top", "bottom")), "ids"), op("Mul", cast(op("Mod", "top", "bottom")), "others"),
             op("Mul", op("Sub", op("Round", near), near), "near_by")]
    # Bases of zeros, each to the powers 0 to 3, and zeros to the power of a parameter.
    powers = op("Pow", op("Unsqueeze", op("Mul", op("Clip", x, "zero", "two"), "bases"), "axis2"), "steps")
    terms += [powers, op("Pow", op("Clip", x, "zero", "two"), "exponents")]
    # The reference implementation has no number for the sum of a row that is masked whole.
    if kind == TensorProto.FLOAT:
        sums = op("Exp", op("ReduceLogSumExp", masked, "axis1", keepdims=0))
    else:
        sums = op("ReduceSum", op("Exp", masked), "axis1", keepdims=0)
    terms.append(op("Mul", sums, "rows"))
    # A ReLU up to 20, and x * sigmoid(x) within bounds: not those without.
    terms.append(op("Mul", op("Clip", x, "zero", "most"), "bounded"))
    gated = op("Clip", op("Mul", x, op("Sigmoid", x)), "low", "high")
    terms.append(op("Mul", gated, "gate"))
    largest = cast(op("ScatterElements", "bytes", "places", "written", axis=1, reduction="max"))
    terms.append(op("Mul", op("Mul", largest, "small"), "larger"))
    pairs = op("Reshape", op("Concat", op("Mul", x, "turned"), x, axis=1), "heads")
    terms.append(op("Mul", op("RotaryEmbedding", pairs, "cosines", "sines", "places"), "half"))
    loss = op("Sum", *(op("ReduceSum", term, keepdims=0) for term in terms))
    initializers = [numpy_helper.from_array(np.array(v, dtype), n) for n, v in numbers.items()]
    initializers += [numpy_helper.from_array(np.array([i]), f"axis{i}") for i in (1, 2)]
    initializers += [numpy_helper.from_array(of(np.arange(3)).astype(dtype)[:, None], n) for n, of in (("cosines", np.cos), ("sines", np.sin))]
    initializers.append(numpy_helper.from_array(np.array([-1, 1, 2, 2]), "heads"))
    initializers += [numpy_helper.from_array(v.astype(dtype), n) for n, v in values.items()]
    nodes.insert(0, helper.make_node("Constant", [], ["steps"], value=numpy_helper.from_array(np.arange(4).astype(dtype))))
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
             np.dtype(np.int8): TensorProto.INT8}
    inputs = [helper.make_tensor_value_info(n, kinds[v.dtype], ["batch", v.shape[1]]) for n, v in INPUTS.items()]
    graph = helper.make_graph(nodes, "edges", inputs, [helper.make_tensor_value_info(loss, kind, [])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


if __name__ == "__main__":
    np.seterr(divide="ignore", invalid="ignore")
    against_reference.main(parameters(), model, INPUTS)
