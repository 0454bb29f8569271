# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds broken files to a tool: broken.py 'COMMAND WITH OPTIONS' INPUTS FOLDER. The model's path comes second.

Named cases must be refused with their message; cut and flipped ones must end cleanly, whatever the verdict.
"""
import math
import os
import random
import shlex
import shutil
import subprocess
import sys

import onnx
from onnx import TensorProto, helper

command, inputs, folder = sys.argv[1:4]
tool, *always = shlex.split(command)
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
failures = []


def run(path, *options):
    try:
        return subprocess.run([tool, path, *always, *options], capture_output=True, timeout=60, text=True,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(path, -99, "", "timeout")


def check(name, path, expected, *options):
    done = run(path, *options)
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    if done.returncode != 1 or len(errors) != 1 or expected not in errors[0]:
        failures.append(f"{name}: status {done.returncode}, wanted '{expected}', got: {done.stderr.strip()[:400]}")


def survive(name, path, *options):
    done = run(path, *options)
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    if done.returncode not in (0, 1) or len(errors) != done.returncode:
        failures.append(f"{name}: status {done.returncode}, {len(errors)} errors: {done.stderr.strip()[:400]}")


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, initializers=(), inputs=None, outputs=None, opset=20):
    graph = helper.make_graph(nodes, "g", inputs or [value("x", [2, 3])], outputs or [value("y", None)],
                              list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def write(name, proto):
    path = os.path.join(folder, name + ".onnx")
    with open(path, "wb") as file:
        file.write(proto.SerializeToString() if hasattr(proto, "SerializeToString") else proto)
    return path


def refused(name, proto, expected, *options):
    check(name, write(name, proto), expected, *options)


def taken(name, proto):
    """What must not be refused, beside what is."""
    done = run(write(name, proto))
    if done.returncode != 0:
        failures.append(f"{name}: status {done.returncode}, wanted 0, got: {done.stderr.strip()[:400]}")


def node(op, ins, outs, **attributes):
    return helper.make_node(op, ins, outs, name=attributes.pop("name", op.lower()), **attributes)


def noted(made, key, text):
    """The node with a note of PyTorch's exporter."""
    made.metadata_props.add(key=key, value=text)
    return made


def external(dims, location, offset=None, length=None):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", offset), ("length", length)):
        if text is not None:
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(text)
    return model([node("Add", ["x", "w"], ["y"])], [tensor])


def ints(name, values):
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


# Names and order.
refused("undefined", model([node("Add", ["x", "z"], ["y"])]), "operand 'z' is not defined")
refused("cycle", model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])]),
        "used before it is made")
refused("twice", model([node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"])]), "'y' is defined twice")
refused("output", model([node("Relu", ["x"], ["z"])]), "output 'y' is not defined")
refused("unknown", model([node("Frobnicate", ["x"], ["a"], domain="my.ops"), node("Unique", ["a"], ["y"])]),
        "unsupported nodes (2): my.ops.Frobnicate version 0 ('frobnicate'), ai.onnx.Unique version 20 ('unique'); for my.ops: a function of the file may define it by operators that dtcc reads; for Unique: its result has a size that depends on the data")
refused("opset", model([node("Relu", ["x"], ["y"])], opset=99), "must be of version 1 to 27, got: 99")
refused("early", model([node("Abs", ["x"], ["a"]), node("Add", ["a", "x"], ["y"], broadcast=1)], opset=6),
        "unsupported nodes (1): ai.onnx.Add version 6 ('add'); operator sets before 7 are read where their operators "
        "mean the same as in that set: convert the file by onnx.version_converter.convert_version(model, 13)")
refused("operands", model([node("Add", ["x"], ["y"])]), "must have at least 2 operands")
refused("types", model([node("Mul", ["x", "n"], ["y"])], [ints("n", [3])]),
        "node 'mul' (Mul): operands must have one element type, got: f32 and i64")
refused("types-folded", model([node("Add", ["n", "half"], ["a"]), node("Add", ["x", "a"], ["y"])],
                              [ints("n", range(60)), helper.make_tensor("half", TensorProto.FLOAT, [], [0.5])]),
        "node 'add' (Add): operands must have one element type, got: i64 and f32")
refused("types-compared", model([node("Less", ["x", "n"], ["a"]), node("Where", ["a", "x", "x"], ["y"])], [ints("n", [3])]),
        "node 'less' (Less): operands must have one element type, got: f32 and i64")
refused("types-selected", model([node("Where", ["x", "x", "x"], ["y"])]), "node 'where' (Where): a condition must be boolean")
sized = [value("x", [4, 3]), value("n", [2], TensorProto.INT64)]
halves = node("Split", ["x", "n"], ["a", "b"], axis=0)
for name, behind in (("part-summed", [node("ReduceSum", ["a"], ["y"], keepdims=0)]),
                     ("parts-swapped", [node("Concat", ["b", "a"], ["y"], axis=0)]),
                     ("parts-of-two-places", [node("Add", ["a", "b"], ["y"])]),
                     ("part-by-rows", [node("Add", ["a", "x"], ["y"])]),
                     ("part-on-the-right", [node("MatMul", ["w", "a"], ["y"])])):
    refused(name, model([halves, *behind], [helper.make_tensor("w", TensorProto.FLOAT, [2, 4], [1.0] * 8)], sized),
            f"({behind[0].op_type}): cannot read a part of a Split whose size only the data tell: such parts may be multiplied")
refused("part-returned", model([halves, node("Relu", ["a"], ["y"])], [], sized),
        "'y' must not be a part of a Split whose size only the data tell: join the parts before")
refused("part-as-logits", model([halves, node("Relu", ["a"], ["r"]), node("Concat", ["a", "b"], ["y"], axis=0)], [], sized),
        "'r' must not be a part of a Split", "--loss=cross_entropy:logits=r,labels=l")
recursion = model([node("F", ["x"], ["y"], domain="f")])
recursion.opset_import.append(helper.make_opsetid("f", 1))
recursion.functions.append(helper.make_function("f", "F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="f")],
                                                [helper.make_opsetid("f", 1)]))
refused("recursion", recursion, "they may form a cycle")
nested = helper.make_graph([node("Relu", ["x"], ["y"])], "g", [], [value("y", None)])
for _ in range(25):
    nested = helper.make_graph([node("If", ["x"], ["y"], then_branch=nested)], "g", [], [value("y", None)])
refused("nested", model([node("If", ["x"], ["y"], then_branch=nested)]), "error: ")

# Much of few bytes: forty functions that call the one before twice, and constants that are made of constants.
laughs = model([node("F39", ["x"], ["y"], domain="l")])
laughs.opset_import.append(helper.make_opsetid("l", 1))
for i in range(40):
    body = [node(f"F{i - 1}", ["p"], ["r"], domain="l"), node(f"F{i - 1}", ["r"], ["q"], domain="l")]
    laughs.functions.append(helper.make_function("l", f"F{i}", ["p"], ["q"], body if i else [node("Tanh", ["p"], ["q"])],
                                                 [helper.make_opsetid("", 20), helper.make_opsetid("l", 1)]))
refused("laughs", laughs, "make more than 267264 nodes and ops")
many = [ints("c0", list(range(0, 32768, 2)))]
refused("folding", model([node("Mul", [f"c{i}", f"c{i}"], [f"c{i + 1}"], name=f"n{i}") for i in range(6000)] +
                         [node("Identity", ["x"], ["y"])], many),
        "the constants of the model take too much to compute: more than 268435456 cells are read or made for them")
survive("power", write("power", model([node("Pow", ["p", "q"], ["s"]), node("Reshape", ["x", "s"], ["y"])],
                                      [ints("p", [1 << 40, 3]), ints("q", [1 << 40, -1])])))
survive("wide", write("wide", model([node("Sum", ["x"] * 3000, ["a"]), node("Concat", ["a"] * 3000, ["y"], axis=0)])))
deep = model([node("Relu", ["x"], ["y"])])
deep.metadata_props.add(key="dtcc.manifest", value="[" * 100000)
refused("deep", deep, "the metadata 'dtcc.manifest' is not JSON: [1:65, byte=64]: lists and objects must lie at most 64 deep")
for name, shift in ("low", str(-(1 << 63))), ("ahead", "-1"), ("far", "2147483649"), ("whole", "1.5"), ("text", '"1"'):
    shifted = model([node("Relu", ["x"], ["y"])])
    shifted.metadata_props.add(key="dtcc.manifest", value='{"version": 1, "parameters": [], "loss": {"shift": %s}}' % shift)
    refused("shift-" + name, shifted, "the shift of the loss in the metadata 'dtcc.manifest' must be an integer from 0 to 2^31, "
            "got: " + shift)

# Shapes and types.
refused("rank", model([node("Relu", ["x"], ["y"])], inputs=[value("x", [1] * 33)]), "at most 32 dimensions, got: 33")
refused("string", model([node("Relu", ["x"], ["y"])], inputs=[value("x", [2], TensorProto.STRING)]),
        "unsupported element type: string")
refused("dimension", model([node("Relu", ["x"], ["y"])], inputs=[value("x", [None, 3])]), "has no size and no name")
refused("huge", model([node("Relu", ["x"], ["y"])], inputs=[value("x", [1 << 40, 1 << 40])]), "is too large")
refused("broadcast", model([node("Add", ["x", "b"], ["y"])], inputs=[value("x", [2, 3]), value("b", [4])]),
        "a dimension has sizes 3 and 4")
refused("reshape", model([node("Reshape", ["x", "s"], ["y"])], [ints("s", [4, -1])]), "cannot infer a dimension")
refused("element", model([node("Where", ["x", "x", "x"], ["y"])]), "error: ")
refused("mixed", model([node("Add", ["x", "i"], ["y"])], inputs=[value("x", [2]), value("i", [2], TensorProto.INT64)]),
        "error: ")
refused("axis", model([node("Softmax", ["x"], ["y"], axis=7)]), "axis must be within a tensor of rank 2, got: 7")
refused("perm", model([node("Transpose", ["x"], ["y"], perm=[0, 0])]), "perm must be a permutation")
refused("step", model([node("Slice", ["x", "a", "b", "c", "d"], ["y"])],
                      [ints("a", [0]), ints("b", [2]), ints("c", [0]), ints("d", [0])]), "a step must not be 0")
refused("dynamic", model([node("Reshape", ["x", "s"], ["y"])],
                         inputs=[value("x", [2, 3]), value("s", [2], TensorProto.INT64)]), "known at compile time")
refused("ratio", model([node("Dropout", ["x", "r"], ["y"])], [helper.make_tensor("r", TensorProto.FLOAT, [], [1.0])]),
        "ratio must be at least 0 and below 1")
refused("kernel", model([node("Conv", ["x", "w"], ["y"], strides=[0, 0])],
                        inputs=[value("x", [1, 1, 4, 4]), value("w", [1, 1, 0, 0])]), "error: ")
image = [value("x", [2, 4, 6, 6]), value("w", [8, 4, 3, 3])]
refused("channels", model([node("Conv", ["x", "w"], ["y"], group=2)], inputs=image),
        "the image's channels must be the kernel's times the groups, and the groups divide the outputs, got: 4, 4, 2 and 8")
refused("kernel_shape", model([node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 2])], inputs=image),
        "kernel_shape must be that of the kernel")
refused("pads", model([node("Conv", ["x", "w"], ["y"], pads=[1, 1])], inputs=image), "must have an entry (pads two) for each")
refused("stride", model([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[0, 1])], inputs=image),
        "strides and dilations must be at least 1 and pads at least 0, in dimension 0")
refused("window", model([node("AveragePool", ["x"], ["y"], kernel_shape=[7, 2])], inputs=image),
        "the window must not be larger than the padded image, got: 7 over 6")
refused("empty_window", model([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], pads=[2, 0, 0, 0])], inputs=image),
        "every window must hold a cell of the image: none in window 0 of spatial dimension 0")
refused("indices", model([node("MaxPool", ["x"], ["y", "i"], kernel_shape=[20, 20], pads=[9, 9, 9, 9]), node("Relu", ["i"], ["z"])],
                         inputs=image, outputs=[value("y", None), value("z", None)]), "in windows of at most 256 cells")
most = (1 << 63) - 1
for name, operands, attributes in (("Conv", ["x", "w"], {"dilations": [1 << 62, 1]}), ("Conv", ["x", "w"], {"pads": [most, 1, 1, 1]}),
                                   ("ConvTranspose", ["x", "v"], {"strides": [most, 3]}), ("ConvTranspose", ["x", "v"], {"dilations": [1 << 62, 1]}),
                                   ("MaxPool", ["x"], {"kernel_shape": [most, 2], "pads": [1 << 62, 0, 1 << 62, 0]})):
    refused("far_windows", model([node(name, operands, ["y"], **attributes)], inputs=[*image, value("v", [4, 2, 3, 3])]), "must be at most 16777216, got:")
# Loops over windows end, and results are counted before they are made.
wide = [1 << 24, 1 << 24]
for name in ("MaxPool", "AveragePool"):
    refused("wide_windows", model([node(name, ["x"], ["y"], kernel_shape=wide, pads=wide + wide)], inputs=image), "error: ")
refused("spread", model([node("ConvTranspose", ["x", "v"], ["y"], strides=wide)], inputs=[image[0], value("v", [4, 64, 3, 3])]), "a result is too large")
refused("numbered", model([node("Conv", ["x", "onnx::Conv_17", "onnx::Conv_18"], ["y"])],
                          inputs=[image[0], value("onnx::Conv_17", [8, 4, 3, 3]), value("onnx::Conv_18", [8])]), "batch norm was folded into 1 weight on")
weighted = {"Conv": ([1, 4, 8, 8], [8, 4, 3, 3]), "ConvTranspose": ([1, 4, 8, 8], [4, 8, 3, 3]), "Gemm": ([2, 4], [4, 8])}
for name, (of_input, of_weight) in weighted.items():
    operands = [value("x", of_input), value("v", of_weight), value("b", [8])]
    for key, text in (("pkg.onnxscript.rewriter.rule_name", f"FuseBatchNormInto{name}"),
                      ("pkg.torch.onnx.fx_node", "%batch_norm : [num_users=1] = call_function[target=torch.ops.aten.batch_norm](args = (%x,))")):
        refused("noted", model([noted(node(name, ["x", "v", "b"], ["y"]), key, text)], inputs=operands), "batch norm was folded into 1 weight")
    # An operator that reads a batch norm, in a class that is named after it, is none.
    for key, text in (("pkg.torch.onnx.class_hierarchy", "['BatchNormBlock', 'torch.nn.modules.linear.Linear']"),
                      ("pkg.torch.onnx.fx_node", "%linear : [num_users=1] = call_function[target=torch.ops.aten.linear](args = (%batch_norm, %v))")):
        taken("reader", model([noted(node(name, ["x", "v", "b"], ["y"]), key, text), node("ReduceMean", ["y"], ["l"], keepdims=0)],
                              [helper.make_tensor("v", TensorProto.FLOAT, of_weight, [0.5] * math.prod(of_weight))],
                              inputs=[operands[0], operands[2]], outputs=[value("l", [])]))
refused("auto_pad", model([node("Conv", ["x", "w"], ["y"], auto_pad="HALF")], inputs=image), "auto_pad must be NOTSET")
refused("statistics", model([node("BatchNormalization", ["x", "s", "s", "s", "v"], ["y"])],
                            inputs=[image[0], value("s", [4]), value("v", [3])]), "operand 4 must hold 4 values")

# Operators that are written out in others.
whole = [value("x", [2, 3], TensorProto.INT64)]
for name in ("Elu", "Mish", "HardSwish", "Shrink", "Tan", "Round", "IsInf", "ReduceL2", "ReduceLogSumExp", "LpNormalization"):
    refused("of_integers", model([node(name, ["x"], ["y"])], inputs=whole), "must have a float operand")
for equation, expected in (("ij,jk->ik", "must have a term for each of the 1 operands"), ("ijk->i", "term 'ijk' must name 2 dimensions"),
                           ("i->i", "term 'i' must name 2 dimensions"), ("ii->i", "dimensions of one letter must agree, got: 2 and 3"),
                           ("ij->ik", "each letter of the result must stand there once and in an operand"),
                           ("ij->ii", "each letter of the result must stand there once"), ("i......->i", "or '...' once"),
                           ("i...jk->i", "term 'i...jk' must name 2 dimensions"), ("ij->i->j", "or '...' once"), ("i,", "must have a term"),
                           ("", "term '' must name 2 dimensions"), ("1j->j", "a letter for each dimension")):
    refused("einsum", model([node("Einsum", ["x"], ["y"], equation=equation)]), expected)
refused("einsum_sizes", model([node("Einsum", ["x", "x"], ["y"], equation="ij,jk->ik")]), "must agree, got: 3 and 2 for 'j'")
refused("einsum_integers", model([node("Einsum", ["x"], ["y"], equation="ij->ji")], inputs=whole), "must multiply floats")
for size in (0, -1, 3, 1 << 32, 1 << 62):
    for name in ("DepthToSpace", "SpaceToDepth"):
        refused("blocks", model([node(name, ["x"], ["y"], blocksize=size)], inputs=[value("x", [1, 4, 2, 2])]), "must ")
for depth in ([0], [1, 2], [1 << 62]):
    refused("depth", model([node("OneHot", ["x", "d", "v"], ["y"])],
                           [ints("d", depth), helper.make_tensor("v", TensorProto.FLOAT, [2], [0, 1])], inputs=whole), "error: ")
refused("norm", model([node("LpNormalization", ["x"], ["y"], p=3)]), "p must be 1 or 2, got: 3")
refused("largest", model([node("ArgMax", ["x"], ["y"], axis=2)]), "axis must be within a tensor of rank 2, got: 2")
sequence = [value("x", [5, 2, 3]), value("w", [1, 16, 3]), value("r", [1, 16, 4]), value("b", [1, 32]), value("h", [1, 2, 4]), value("l", [2], TensorProto.INT32)]
for operands, attributes, expected in ((["x", "w", "w"], {}, "must be of 4 gates of 3 units, in 1 directions"), (["w", "x", "r"], {}, "gates of 4 units"),
                                       (["x", "w", "r", "b"], {"direction": "bidirectional"}, "in 2 directions"),
                                       (["x", "w", "r", "b", "l"], {}, "sequence_lens must be known"),
                                       (["x", "w", "r", "b", "", "b"], {}, "error: "), (["x", "w", "r", "b", "", "h", "x"], {}, "must be [direction, batch, unit]"),
                                       (["x", "w", "r"], {"activations": ["Tanh"]}, "activations must be Sigmoid, Tanh or Relu, 3 of them, got: ''"),
                                       (["x", "w", "r"], {"clip": 1.0}, "peepholes, clip and input_forget"),
                                       (["x", "w", "r", "", "", "l"], {"layout": 1}, "must be [direction, batch, unit], or, by layout,"), (["b", "w", "r"], {}, "must have floats [seq, batch, from]")):
    refused("recurrent", model([node("LSTM", operands, ["y"], **attributes)], inputs=sequence), expected)
refused("long", model([node("RNN", ["x", "w", "r"], ["y"], activations=["Sigmoid"])], inputs=[value("x", [1025, 2, 3]), value("w", [1, 4, 3]), value("r", [1, 4, 4])]), "a sequence of 1 to 1024 steps")
for scales, expected in (([1, 0], "must leave a cell in each axis"), ([1, -2], "must leave a cell"), ([1, float("nan")], "must leave a cell"),
                         ([1, 1e30], "must leave a cell"), ([1, 1e8], "must have at most 16777216 pairs of old and new cells"), ([2], "an entry an axis")):
    refused("resized", model([node("Resize", ["x", "", "s"], ["y"], mode="linear")],
                             [helper.make_tensor("s", TensorProto.FLOAT, [len(scales)], scales)]), expected)
refused("resized_axis", model([node("Resize", ["x", "", "", "s"], ["y"], axes=[2])], [ints("s", [4])]), "axis must be within a tensor of rank 2")
refused("resized_integers", model([node("Resize", ["x", "", "", "s"], ["y"])], [ints("s", [3, 4])], inputs=whole), "must have a float operand")
refused("resized_mode", model([node("Resize", ["x", "", "", "s"], ["y"], mode="area")], [ints("s", [3, 4])]), "must be nearest, linear or cubic")
for attributes, expected in (({}, "must have a shape"), ({"shape": [2, -3]}, "shape has a negative size, or too many cells"),
                             ({"shape": [1 << 40] * 2}, "shape has a negative size, or too many cells"),
                             ({"shape": [2, 3], "dtype": TensorProto.INT64}, "must draw floats"),
                             ({"shape": [2, 3], "dtype": 99}, "cannot draw numbers of type")):
    refused("drawn", model([node("RandomNormal", [], ["y"], **attributes)]), expected)
refused("coins", model([node("Bernoulli", ["x"], ["y"])], inputs=whole), "must have a float operand")
labels = [value("x", [2, 3]), value("l", [3], TensorProto.INT64), value("w", [3])]
refused("labels", model([node("SoftmaxCrossEntropyLoss", ["x", "l", "w"], ["y"])], inputs=labels), "weights one a class, got: [3] for [2, 3]")
refused("label_floats", model([node("SoftmaxCrossEntropyLoss", ["x", "w"], ["y"])], inputs=labels), "labels must be integers of the shape of the logits "
        "without their classes, got: floats [3] for [2, 3]")
refused("logs", model([node("NegativeLogLikelihoodLoss", ["l", "l"], ["y"])], inputs=labels), "must be floats")

# Results that nobody could count the cells of.
far = [value("x", [1 << 40, 1]), value("b", [1, 1 << 40]), value("i", [1 << 40], TensorProto.INT64)]
for name, operands in (("Add", ["x", "b"]), ("MatMul", ["x", "b"]), ("Gather", ["b", "i"])):
    refused("far", model([node(name, operands, ["y"])], inputs=far), "a result is too large: 'tensor<1099511627776x")
refused("far_join", model([node("Concat", ["x"] * 256, ["y"], axis=0)], inputs=[value("x", [1 << 56])]), "a result is too large")
refused("far_input", model([node("Relu", ["x"], ["y"])], inputs=[value("x", [1 << 57])]), "is too large")
# Positions beyond 64 bits are no positions: sanitizers see sums that wrap round.
for name, operands, kind, numbers in (("EyeLike", ["x"], TensorProto.FLOAT, []), ("Trilu", ["x", "k"], TensorProto.FLOAT, [-1 << 63]),
                                      ("Add", ["x", "k"], TensorProto.INT64, [most, -1 << 63, most]), ("Less", ["x", "k"], TensorProto.INT64, [-1 << 63, 0, most])):
    attributes = {"k": most} if name == "EyeLike" else {}
    nodes = [node(name, operands, ["z"], **attributes), node("Where", ["c", "z", "z"], ["y"])]
    dims = [] if name == "Trilu" else [len(numbers)]
    survive("far_positions", write("far_positions", model(nodes, [helper.make_tensor("k", TensorProto.INT64, dims, numbers)] if numbers else [],
                                                          inputs=[value("x", [2, 3], kind), value("c", [2, 3], TensorProto.BOOL)])))
# Operators of any number of operands.
for name, attributes in (("Sum", {}), ("Mean", {}), ("Max", {}), ("Concat", {"axis": 0}), ("Einsum", {"equation": "ij,jk->ik"})):
    refused("left_out", model([node(name, ["x", ""], ["y"], **attributes)]), "must name each of its 2 operands, got none as operand 1")
refused("many_terms", model([node("Einsum", ["x"] * 99, ["y"], equation="ij")]), "operands, got: 99")
refused("onehot", model([node("OneHot", ["x", "x", "x"], ["y"], axis=9)], inputs=whole), "must be a number known at compile time")

# Loops end, and their number of steps is known.
def loop(steps, body, carried="x", count=None):
    return model([node("Loop", [steps, "", carried], ["y"], body=body)], [helper.make_tensor("n", TensorProto.INT64, [], [count])] if count else [])


def step(nodes, condition):
    return helper.make_graph(nodes, "step", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                                             helper.make_tensor_value_info("on", TensorProto.BOOL, []), value("state", [2, 3])],
                             [helper.make_tensor_value_info(condition, TensorProto.BOOL, []), value("next", [2, 3])])


forever = step([node("Relu", ["state"], ["next"])], "on")
refused("endless", loop("", forever), "those of a model must have at most 65536 nodes together")
refused("long", loop("n", forever, count=1 << 40), "those of a model must have at most 65536 nodes together")
refused("decided", loop("", step([node("Relu", ["state"], ["next"]), node("ReduceSum", ["next"], ["sum"], keepdims=0),
                                  node("Cast", ["sum"], ["go"], to=TensorProto.BOOL)], "go")),
        "after step 0 the data decide whether the loop goes on")
refused("body", model([node("Loop", ["", "", "x", "x"], ["y"], body=forever)]), "the body must have 4 inputs")
refused("scan", model([node("Scan", ["x"], ["y"], body=forever, num_scan_inputs=2)]), "num_scan_inputs must be between 1")

# Stored tensors.
short = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], raw_data=b"\0" * 20)
refused("short", model([node("Add", ["x", "w"], ["y"])], [short]), "must have 24 bytes of data for its shape, got: 20")
overflow = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 62, 4], raw_data=b"")
refused("overflow", model([node("Add", ["x", "w"], ["y"])], [overflow]), "negative or too large dimension")
negative = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-2, -3], raw_data=b"\0" * 24)
refused("negative", model([node("Add", ["x", "w"], ["y"])], [negative]), "negative or too large dimension")

# External data.
with open(os.path.join(folder, "w.bin"), "wb") as file:
    file.write(b"\0" * 24)
os.makedirs(os.path.join(folder, "sub"))
os.symlink(os.path.join(folder, "w.bin"), os.path.join(folder, "link.bin"))
os.symlink(folder, os.path.join(folder, "sub", "up"))
os.mkfifo(os.path.join(folder, "fifo"))
survive("external", write("external", external([2, 3], "w.bin", 0, 24)))
refused("absolute", external([2, 3], "/etc/passwd"), "must be a path inside the model's folder")
refused("parent", external([2, 3], "sub/../../w.bin"), "must be a path inside the model's folder")
refused("link", external([2, 3], "link.bin"), "a symbolic link is on its path")
refused("linked-folder", external([2, 3], "sub/up/w.bin"), "a symbolic link is on its path")
refused("directory", external([2, 3], "sub"), "is not a regular file")
refused("fifo-data", external([2, 3], "fifo"), "is not a regular file")
refused("nowhere", external([2, 3], "none.bin"), "does not exist")
refused("past-end", external([2, 3], "w.bin", 4, 24), "must lie inside its external data of 24 bytes")
refused("far", external([2, 3], "w.bin", (1 << 63) - 8, 24), "must lie inside its external data")
refused("beyond", external([2, 3], "w.bin", 1 << 70), "must be a number of bytes")
refused("minus", external([2, 3], "w.bin", -4), "must be a number of bytes")
refused("words", external([2, 3], "w.bin", "zero"), "must be a number of bytes")
refused("length", external([2, 3], "w.bin", 0, 12), "must have 24 bytes of external data for its shape, got: 12")

# Cut and flipped: deterministic, and only the file itself is damaged.
random.seed(1)
for name, options in (("mlp", ["--bind=batch=2"]), ("gpt2", ["--bind=batch=2,seq=4"])):
    source = os.path.join(inputs, name)
    os.makedirs(os.path.join(folder, name))
    shutil.copy(os.path.join(source, "loss.onnx.data"), os.path.join(folder, name))
    with open(os.path.join(source, "loss.onnx"), "rb") as file:
        whole = file.read()
    for i in range(12):
        cut = random.randrange(len(whole))
        survive(f"{name} cut at {cut}", write(f"{name}/cut", whole[:cut]), *options)
    for i in range(60 if name == "mlp" else 25):
        bytes_ = bytearray(whole)
        places = [random.randrange(min(len(whole), 40000)) for _ in range(1 + i % 4)]
        for place in places:
            bytes_[place] ^= 1 << random.randrange(8)
        survive(f"{name} flipped at {places}", write(f"{name}/flip{i}", bytes(bytes_)), *options)

print("\n".join(failures))
sys.exit(bool(failures))
