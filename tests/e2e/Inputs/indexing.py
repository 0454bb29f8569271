#!/usr/bin/env python3
# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of everything that picks, writes, adds up and enlarges cells; against_reference.py says how it is called."""
import against_reference
import numpy as np
from onnx import TensorProto, helper, numpy_helper

BATCH, SEQ, WIDTH, WORDS = 4, 6, 4, 7


def parameters():
    random = np.random.default_rng(3)
    cells = {"table": (WORDS, WIDTH), "up": (WIDTH, 3, 3), "across": (1, 2, 3, 3), "scale": (2,), "shift": (2,)}
    return {name: random.standard_normal(shape) for name, shape in cells.items()}


def model(values, kind):
    """The graph with parameters `values` in type `kind`: a scalar loss of ids [batch, seq]."""
    dtype = np.float32 if kind == TensorProto.FLOAT else np.float64
    constants = {
        "axis1": np.array(1), "axis0": np.array([0]), "axis2": np.array([2]), "all": np.array([0, 1, 2]),
        "odd": np.array([4, 0, 0, 3]), "places": np.tile(np.array([2, 3]).reshape(1, 2, 1), (BATCH, 1, WIDTH)),
        "rows": np.arange(2, 4).reshape(2, 1), "image": np.array([BATCH, 1, SEQ, WIDTH]),
        "long": np.array([1, SEQ, SEQ]), "one": np.array([1]), "limit": np.array(3),
    }
    nodes, made = [], iter(range(1000))

    def op(name, *inputs, outputs=1, **attributes):
        results = [f"v{next(made)}" for _ in range(outputs)]
        nodes.append(helper.make_node(name, inputs, results, name=f"{name}_{results[0]}", **attributes))
        return results[0]

    hidden = op("Gather", "table", "ids")                                        # [b, s, w]
    flags = op("Cast", op("Less", "ids", "limit"), to=TensorProto.INT64)
    counted = op("Cast", op("CumSum", flags, "axis1", exclusive=1), to=kind)     # how many small ids stand before
    running = op("CumSum", hidden, "axis1", reverse=1)
    picked = op("Gather", running, "odd", axis=1)                                # [b, 4, w]
    changed = op("ScatterElements", hidden, "places", op("Slice", picked, "axis0", "two", "one"), axis=1, reduction="mul")
    turned = op("Transpose", changed, perm=[1, 0, 2])
    written = op("ScatterND", turned, "rows", op("Transpose", op("Slice", picked, "two", "four", "one"), perm=[1, 0, 2]))
    back = op("Transpose", written, perm=[1, 0, 2])
    level = op("ReduceSum", back, "axis2", keepdims=0)                           # [b, s]
    apart = op("Abs", op("Sub", op("Unsqueeze", level, "one"), op("Unsqueeze", level, "axis2")))
    image = op("Reshape", back, "image")                                         # [b, 1, s, w]
    wide = op("ConvTranspose", image, "across", strides=[2, 2], pads=[1, 1, 0, 1], output_padding=[1, 0], dilations=[1, 1])
    normal = op("InstanceNormalization", wide, "scale", "shift", epsilon=1e-3)
    larger = op("Resize", normal, "", "scales", mode="nearest", nearest_mode="floor",
                coordinate_transformation_mode="asymmetric")
    single = op("ConvTranspose", op("Transpose", back, perm=[0, 2, 1]), "up", strides=[3])
    parts = [op("ReduceMean", op("Mul", x, x), keepdims=0) for x in (apart, larger, single, op("Mul", level, counted))]
    loss = op("Add", op("Add", parts[0], op("Tanh", op("ReduceMean", larger, keepdims=0))), op("Add", parts[1],
              op("Add", parts[2], parts[3])))
    constants.update({"two": np.array([2]), "four": np.array([4])})
    initializers = [numpy_helper.from_array(v.astype(np.int64), n) for n, v in constants.items()]
    # Every image channel, then each spatial dimension.
    initializers.append(numpy_helper.from_array(np.array([1, 1, 2, 3], np.float32), "scales"))
    initializers += [numpy_helper.from_array(v.astype(dtype), n) for n, v in values.items()]
    graph = helper.make_graph(nodes, "indexing", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", SEQ])],
                              [helper.make_tensor_value_info(loss, kind, [])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def ids():
    return np.random.default_rng(5).integers(0, WORDS, (BATCH, SEQ))


if __name__ == "__main__":
    against_reference.main(parameters(), model, {"ids": ids()})
