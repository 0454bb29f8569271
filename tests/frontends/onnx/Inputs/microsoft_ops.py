# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports pairs of models, one with an operator of com.microsoft, one with its definition: microsoft_ops.py COMMAND FOLDER.

What they become must be the same text. The definitions are those of ONNX Runtime's ContribOperators.md.
"""
import sys

import pairs

command, folder = sys.argv[1:3]
HEADER = '<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]>\n'
SCORES = "g (float[4, 5] x, int64[4] l) => (float y) "
X = "g (float[2, 3, 4] x) => (float[2, 3, 4] y) "
TWO = "g (float[2, 3, 4] x, float[4] b) => (float[2, 3, 4] y) "
PAIRS = {
    "FusedMatMul": (
        "g (float[2, 4, 3] x, float[2, 5, 4] b) => (float[2, 3, 5] y) { y = com.microsoft.FusedMatMul <transA = 1, transB = 1, alpha = 0.5> (x, b) }",
        "g (float[2, 4, 3] x, float[2, 5, 4] b) => (float[2, 3, 5] y) <float half = {0.5}> { a = Transpose <perm = [0, 2, 1]> (x)  c = Transpose <perm = [0, 2, 1]> (b)  m = MatMul (a, c)  y = Mul (m, half) }"),
    "BiasGelu": (TWO + "{ y = com.microsoft.BiasGelu (x, b) }", TWO + "{ s = Add (x, b)  y = Gelu (s) }"),
    "Gelu": (X + "{ y = com.microsoft.Gelu (x) }", X + "{ y = Gelu (x) }"),
    "FastGelu": (TWO + "{ y = com.microsoft.FastGelu (x, b) }", TWO + '{ s = Add (x, b)  y = Gelu <approximate = "tanh"> (s) }'),
    "FastGelu without bias": (X + "{ y = com.microsoft.FastGelu (x) }", X + '{ y = Gelu <approximate = "tanh"> (x) }'),
    "QuickGelu": (X + "{ y = com.microsoft.QuickGelu <alpha = 1.5> (x) }",
                  X + "<float a = {1.5}> { m = Mul (x, a)  s = Sigmoid (m)  y = Mul (x, s) }"),
    "SimplifiedLayerNormalization": (
        TWO + "{ y, i = com.microsoft.SimplifiedLayerNormalization <axis = -1, epsilon = 0.001, stash_type = 1> (x, b) }",
        TWO + "{ y = RMSNormalization <axis = -1, epsilon = 0.001> (x, b) }"),
    "SimplifiedLayerNormalization of the default domain": (
        TWO + "{ y = SimplifiedLayerNormalization <epsilon = 0.001> (x, b) }", TWO + "{ y = RMSNormalization <epsilon = 0.001> (x, b) }"),
    "LayerNormalization": (
        TWO + "{ y, m, i = com.microsoft.LayerNormalization <axis = -1> (x, b, b) }", TWO + "{ y = LayerNormalization <axis = -1> (x, b, b) }"),
    "BiasSoftmax": (
        "g (float[2, 3, 4] x, float[2, 1, 4] b) => (float[2, 3, 4] y) { y = com.microsoft.BiasSoftmax <axis = 2, is_inner_broadcast = 1> (x, b) }",
        "g (float[2, 3, 4] x, float[2, 1, 4] b) => (float[2, 3, 4] y) { s = Add (x, b)  y = Softmax <axis = 2> (s) }"),
    "SoftmaxCrossEntropyLossInternal": (
        SCORES + "<int64 i = {-1}> { y, p = com.microsoft.SoftmaxCrossEntropyLossInternal (x, l, , i) }",
        SCORES + "{ y = SoftmaxCrossEntropyLoss <ignore_index = -1> (x, l) }"),
    "ConcatTraining": (
        "g (float[2, 3] x, float[4, 3] b) => (float[6, 3] y, int64[2] n) { y, n = com.microsoft.ConcatTraining <axis = 0> (x, b) }",
        "g (float[2, 3] x, float[4, 3] b) => (float[6, 3] y, int64[2] n) { y = Concat <axis = 0> (x, b)  n = Constant <value_ints = [2, 4]> () }"),
    "SplitTraining": (
        "g (float[6, 3] x) => (float[2, 3] y, float[4, 3] z) <int64[2] s = {2, 4}> { y, z = com.microsoft.SplitTraining <axis = 0> (x, s) }",
        "g (float[6, 3] x) => (float[2, 3] y, float[4, 3] z) <int64[2] s = {2, 4}> { y, z = Split <axis = 0> (x, s) }"),
    "ReduceSumTraining": (
        "g (float[6, 3] x) => (float[6] y) <int64[1] a = {1}> { y = com.microsoft.ReduceSumTraining <keepdims = 0> (x, a) }",
        "g (float[6, 3] x) => (float[6] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 0> (x, a) }"),
    "BatchNormInternal": (
        "g (float[2, 3, 4] x, float[3] s) => (float[2, 3, 4] y) { y, m, v, a, b = com.microsoft.BatchNormInternal <training_mode = 1, momentum = 0.8> (x, s, s, s, s) }",
        "g (float[2, 3, 4] x, float[3] s) => (float[2, 3, 4] y) { y = BatchNormalization <training_mode = 1, momentum = 0.8> (x, s, s, s, s) }"),
    "BitmaskDropout": (
        X + "<float r = {0.25}, bool t = {1}> { y, m = com.microsoft.BitmaskDropout (x, r, t) }",
        X + "<float r = {0.25}, bool t = {1}> { y = Dropout (x, r, t) }"),
    "BiasDropout": (
        TWO + "<float r = {0.25}, bool t = {1}> { y, m = com.microsoft.BiasDropout (x, b, x, r, t) }",
        TWO + "<float r = {0.25}, bool t = {1}> { s = Add (x, b)  d = Dropout (s, r, t)  y = Add (d, x) }"),
    "BiasDropout without residual": (
        TWO + "<float r = {0.25}, bool t = {1}> { y, m = com.microsoft.BiasDropout (x, b, , r, t) }",
        TWO + "<float r = {0.25}, bool t = {1}> { s = Add (x, b)  y = Dropout (s, r, t) }"),
}

REFUSED = (
    ("FusedMatMul", "g (float[2, 4] x) => (float[2, 2] y) { y = com.microsoft.FusedMatMul <transBatchA = 1> (x, x) }", "transBatchA and transBatchB are not supported"),
    ("BiasSoftmax", "g (float[2, 4] x, float[4] b) => (float[2, 4] y) { y = com.microsoft.BiasSoftmax (x, b) }", "the bias must have the rank of the data, 2, got: 1"),
    ("BitmaskDropout", X + "{ y, m = com.microsoft.BitmaskDropout (x)  z = Cast <to = 1> (m) }", "the mask of bits is not supported"),
    ("Attention", X + "{ y = com.microsoft.Attention (x) }", "unsupported nodes (1): com.microsoft.Attention version 1"),
    ("ConcatTraining", "g (float[2, 3] x, float[4] b) => (float[6, 3] y) { y = com.microsoft.ConcatTraining <axis = 0> (x, b) }", "error: "),
)
sys.exit(pairs.compare(command, folder, HEADER.replace("{opset}", "23"), PAIRS, REFUSED))
