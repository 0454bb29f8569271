#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of loops, branches, writes to places that only the data tell, integers, samples of an image and transforms;
against_reference.py says how it is called."""
import against_reference
import numpy as np
from onnx import TensorProto, helper, numpy_helper

BATCH, SEQ, WIDTH, WORDS, NODES = 4, 6, 4, 7, 5


def parameters():
    random = np.random.default_rng(3)
    cells = {"table": (WORDS, WIDTH), "mix": (WIDTH, WIDTH), "gate": (WIDTH,), "grown": (NODES, WIDTH), "theta": (2, 3)}
    return {name: random.standard_normal(shape) for name, shape in cells.items()}


def body(name, nodes, inputs, outputs, initializers=()):
    """A graph inside another; inputs and outputs are (name, type) pairs."""
    def infos(pairs):
        return [helper.make_tensor_value_info(n, t, None) for n, t in pairs]
    return helper.make_graph(nodes, name, infos(inputs), infos(outputs), initializers)


def model(values, kind):
    """The graph with parameters `values` in type `kind`: a scalar loss of ids [batch, seq]."""
    dtype = np.float32 if kind == TensorProto.FLOAT else np.float64
    constants = {
        "steps": np.array(3), "axis1": np.array(1), "list1": np.array([1]), "list2": np.array([2]), "rows": np.array([-1]),
        "flat": np.array([-1, WIDTH]), "points": np.array([-1, 1]), "words": np.array(NODES), "three": np.array(3),
        "small": np.array(2), "wide": np.array([BATCH * SEQ, WIDTH]), "image": np.array([BATCH, 1, SEQ, WIDTH]),
        "size": np.array([BATCH, 1, 3, 5]), "maps": np.array([BATCH, 2, 3]), "signal": np.array([BATCH, SEQ * WIDTH, 1]),
        "hop": np.array(4), "frame": np.array(8), "last": np.array([-1]), "pads": np.array([0, 0, 1, 2, 0, 0, 3, 1]),
    }
    nodes, made = [], iter(range(1000))

    def op(name, *inputs, outputs=1, **attributes):
        results = [f"v{next(made)}" for _ in range(outputs)]
        nodes.append(helper.make_node(name, inputs, results, name=f"{name}_{results[0]}", **attributes))
        return results[0] if outputs == 1 else results

    hidden = op("Gather", "table", "ids")                                                       # [b, s, w]
    # A loop with a parameter of the graph around it and a constant of its own, that reads by its number.
    looped = body("loop", [helper.make_node("MatMul", ["state", "mix"], ["product"]),
                           helper.make_node("Gather", [hidden, "i"], ["now"], axis=1),
                           helper.make_node("Add", ["product", "now"], ["sum"]),
                           helper.make_node("Add", ["sum", "bias"], ["biased"]),
                           helper.make_node("Tanh", ["biased"], ["next"]),
                           helper.make_node("Identity", ["on"], ["go"]),
                           helper.make_node("ReduceMax", ["next", "last"], ["given"], keepdims=0)],
                  [("i", TensorProto.INT64), ("on", TensorProto.BOOL), ("state", kind)],
                  [("go", TensorProto.BOOL), ("next", kind), ("given", kind)],
                  [numpy_helper.from_array(np.array([0.25], dtype), "bias")])
    start = op("Gather", hidden, "axis1", axis=1)
    final, trace = op("Loop", "steps", "yes", start, outputs=2, body=looped)                       # [b, w], [3, b]
    # A scan along the sequence.
    scanned = body("scan", [helper.make_node("Mul", ["held", "gate"], ["kept"]),
                            helper.make_node("Add", ["kept", "cell"], ["more"]),
                            helper.make_node("Sigmoid", ["more"], ["seen"])],
                   [("held", kind), ("cell", kind)], [("more", kind), ("seen", kind)])
    held, seen = op("Scan", final, op("Transpose", hidden, perm=[1, 0, 2]), outputs=2, body=scanned, num_scan_inputs=1, scan_input_axes=[0],
                    scan_output_axes=[0])                                                       # [b, w], [s, b, w]
    seen = op("Transpose", seen, perm=[1, 0, 2])
    chosen = op("If", "yes", then_branch=body("then", [helper.make_node("Mul", [held, "gate"], ["t"])], [], [("t", kind)]),
                else_branch=body("else", [helper.make_node("Neg", [held], ["e"])], [], [("e", kind)]))
    # Sums, extremes and the last write at places that the data tell.
    node = op("Mod", "ids", "words")
    row, edges = op("Reshape", node, "rows"), op("Reshape", seen, "flat")
    summed = op("ScatterND", "grown", op("Reshape", row, "points"), edges, reduction="add")
    places = op("Expand", op("Reshape", row, "points"), "wide")
    most = op("ScatterElements", "grown", places, edges, axis=0, reduction="max")
    written = op("ScatterElements", "grown", places, edges, axis=0)
    ranked = op("TopK", seen, "list2", axis=1, largest=0, outputs=2)
    # Integers: running sums, products, extremes and ranks of ids.
    running = op("CumSum", "ids", "axis1", reverse=1)
    total = op("ReduceSum", "ids", "list1", keepdims=1)
    ids = op("Sub", op("Max", running, op("ReduceMax", "ids", "list1", keepdims=1)), total)
    best = op("TopK", "ids", "list2", axis=1, outputs=2)
    counts = [op("Cast", x, to=kind) for x in (ids, op("Mod", running, "three"), *best, op("Sign", ids),
                                               op("ReduceProd", op("Min", "ids", "small"), "list1", keepdims=0))]
    # An image read at places of its own.
    image = op("Reshape", seen, "image")
    grid = op("AffineGrid", op("Expand", op("Tanh", "theta"), "maps"), "size")
    sampled = op("GridSample", image, grid, mode="linear", padding_mode="border")
    # Sound.
    window = op("Cast", op("HannWindow", "frame"), to=kind)
    spectrum = op("STFT", op("Reshape", seen, "signal"), "hop", window, "frame")
    # The reference counts the channels by the batch: both are 4.
    response = op("LRN", op("Transpose", image, perm=[0, 3, 2, 1]), size=3, alpha=0.5, beta=0.6, bias=1.5)
    product = op("ReduceProd", op("Add", op("Tanh", final), "one"), "list1", keepdims=0)
    padded = op("Pad", image, "pads", mode="reflect")
    weighed = [op("Mul", op("ReduceMean", x, keepdims=0), op("ReduceMean", summed, keepdims=0)) for x in counts]
    parts = [op("ReduceMean", op("Mul", x, x), keepdims=0)
             for x in (final, trace, chosen, summed, most, written, ranked[0], sampled, spectrum, response, product, padded)]
    loss = op("Sum", *parts, *weighed)
    initializers = [numpy_helper.from_array(v.astype(np.int64), n) for n, v in constants.items()]
    initializers.append(numpy_helper.from_array(np.array(True), "yes"))
    initializers.append(numpy_helper.from_array(np.array(1, dtype), "one"))
    initializers += [numpy_helper.from_array(v.astype(dtype), n) for n, v in values.items()]
    graph = helper.make_graph(nodes, "control", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", SEQ])],
                              [helper.make_tensor_value_info(loss, kind, [])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


if __name__ == "__main__":
    against_reference.main(parameters(), model, {"ids": np.random.default_rng(5).integers(0, WORDS, (BATCH, SEQ))})
