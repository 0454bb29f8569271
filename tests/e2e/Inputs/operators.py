#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of operators that are written out in others; against_reference.py says how it is called.

Products by letters, a router that leaves groups of experts out, norms, activations, blocks and sizes of an image, one-hot ids, losses
with class weights.
"""
import against_reference
import numpy as np
from onnx import TensorProto, helper, numpy_helper

BATCH, SEQ, WIDTH, WORDS, EXPERTS = 4, 6, 4, 8, 8


def parameters():
    random = np.random.default_rng(3)
    cells = {"table": (WORDS, WIDTH), "query": (WIDTH, 2, 3), "key": (WIDTH, 2, 3), "route": (WIDTH, EXPERTS),
             "slope": (WIDTH,), "square": (WIDTH, WIDTH), "last": (WIDTH, 2)}
    return {name: random.standard_normal(shape) for name, shape in cells.items()}


def model(values, kind):
    """The graph with parameters `values` in type `kind`: a scalar loss of ids [batch, seq]."""
    dtype = np.float32 if kind == TensorProto.FLOAT else np.float64
    constants = {"axis1": np.array([1]), "axis2": np.array([2]), "two": np.array([2]), "three": np.array([3]),
                 "tokens": np.array([BATCH * SEQ, WIDTH]), "groups": np.array([BATCH * SEQ, 4, 2]),
                 "row": np.array([BATCH * SEQ, EXPERTS]), "all": np.array([BATCH * SEQ, 4, 2]), "words": np.array(WORDS), "positions": np.array(SEQ),
                 "image": np.array([BATCH, WIDTH, 2, 3]), "last_axis": np.array([-1]), "sizes": np.array([BATCH, WIDTH, 5, 7])}
    numbers = {"zeros": np.zeros((BATCH * SEQ, 4)), "ones": np.ones((BATCH * SEQ, 2)), "half": np.array(0.5), "none": np.array(-1e4)}
    nodes, made = [], iter(range(1000))

    def op(name, *inputs, outputs=1, **attributes):
        results = [f"v{next(made)}" for _ in range(outputs)]
        nodes.append(helper.make_node(name, inputs, results, name=f"{name}_{results[0]}", **attributes))
        return results[0] if outputs == 1 else results

    flags = op("Constant", value=numpy_helper.from_array(np.array([0, 1], dtype)))
    hidden = op("Gather", "table", "ids")                                                   # [b, s, w]
    # Attention by letters: heads from a split product, a product over the rest, a trace, an outer product.
    queries = op("Einsum", hidden, "query", equation="bsw,whd->bhsd")
    keys = op("Einsum", hidden, "key", equation="...w,whd->...hd")
    scores = op("Softmax", op("Einsum", queries, keys, equation="bhqd,bkhd->bhqk"), axis=-1)
    mixed = op("Einsum", scores, hidden, "square", equation="bhqk,bkw,wv->bqv")
    trace = op("Einsum", "square", equation="ii")
    outer = op("Einsum", "slope", op("Einsum", "square", equation="ii->i"), equation="i,j")
    # A router that picks two of four groups, then three of the eight experts in them; weighed by other scores.
    flat = op("Reshape", mixed, "tokens")
    chosen = op("Sigmoid", op("MatMul", flat, "route"))
    best = op("ReduceMax", op("Reshape", chosen, "groups"), "axis2", keepdims=0)
    group = op("TopK", best, "two", outputs=2)[1]
    mask = op("ScatterElements", "zeros", group, "ones", axis=1)                            # [tokens, 4]
    wide = op("Reshape", op("Expand", op("Unsqueeze", mask, "axis2"), "all"), "row")
    kept = op("Where", op("Greater", wide, "half"), chosen, "none")
    places = op("TopK", kept, "three", outputs=2)[1]
    weights = op("GatherElements", chosen, places, axis=1)
    # Norms and activations.
    unit = op("Div", flat, op("ReduceL2", flat, "last_axis"))
    lines = [op("ReduceL1", unit, "last_axis"), op("ReduceLogSumExp", flat, "last_axis"), op("ReduceSumSquare", unit, "axis1"),
             op("LpNormalization", flat, axis=-1, p=2)]
    bent = flat
    for name, attributes in (("Elu", {"alpha": 0.7}), ("Selu", {}), ("HardSwish", {}), ("Celu", {"alpha": 1.5}), ("Mish", {}),
                             ("Softsign", {}), ("HardSigmoid", {"alpha": 0.3}), ("ThresholdedRelu", {"alpha": 0.2}), ("Sinh", {}),
                             ("Cosh", {})):
        bent = op("Sub", op("Mul", flat, "half"), op(name, op("Tanh", bent), **attributes))
    bent = op("PRelu", bent, "slope")
    image = op("Reshape", op("Transpose", hidden, perm=[0, 2, 1]), "image")
    larger = op("DepthToSpace", image, blocksize=2, mode="CRD")
    back = op("SpaceToDepth", larger, blocksize=2)
    larger = op("Resize", op("Resize", image, "", "scales", mode="linear"), "", "", "sizes", mode="cubic",
                coordinate_transformation_mode="align_corners", cubic_coeff_a=-0.5)
    smaller = op("Resize", op("Resize", larger, "", "fewer", mode="nearest", nearest_mode="ceil"), "", "fewer", mode="linear", antialias=1)
    # The row of the table for each id, computed as a product with the one-hot ids.
    counted = op("Einsum", op("OneHot", "ids", "words", flags), "table", "last", equation="bsv,vw,wo->bo")
    best = op("OneHot", op("ArgMax", "ids", axis=1, keepdims=0), "positions", flags)          # [b, s]
    ends = op("Einsum", best, hidden, equation="bs,bsw->bw")
    # Losses by class weights, and row by row.
    logits = op("Einsum", hidden, "table", equation="bsw,vw->bvs")
    weighing = op("Constant", value=numpy_helper.from_array(np.linspace(0.5, 2, WORDS).astype(dtype)))
    losses = [op("SoftmaxCrossEntropyLoss", logits, "ids", weighing, reduction="mean", ignore_index=2),
              op("NegativeLogLikelihoodLoss", op("LogSoftmax", logits, axis=1), "ids", weighing, reduction="none")]
    parts = [op("ReduceMean", op("Mul", x, x), keepdims=0)
             for x in (mixed, outer, weights, *lines, bent, op("Tanh", back), op("Mean", image, back), op("Tanh", smaller), counted, trace, ends, *losses)]
    loss = op("Sum", *parts)
    initializers = [numpy_helper.from_array(v.astype(np.int64), n) for n, v in constants.items()]
    # Scales are single precision whatever the images are.
    scales = {"scales": [1, 1, 2, 1.5], "fewer": [1, 1, 0.8, 0.7]}
    initializers += [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in scales.items()]
    initializers += [numpy_helper.from_array(v.astype(dtype), n) for n, v in {**numbers, **values}.items()]
    graph = helper.make_graph(nodes, "operators", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", SEQ])],
                              [helper.make_tensor_value_info(loss, kind, [])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


if __name__ == "__main__":
    against_reference.main(parameters(), model, {"ids": np.random.default_rng(5).integers(0, WORDS, (BATCH, SEQ))})
