# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports models with tensors without elements beside models without them: empty_tensors.py COMMAND FOLDER.

Both must become the same text: what is made of no elements is known, and no op reads it.
"""
import sys

import pairs

command, folder = sys.argv[1:3]
X = "g (float[2, 3] x) => (float y) "
NONE = "<int64[2] s = {2, 0}, int64[1] f = {3}, int64[1] t = {1}, int64[1] z = {0}, float one = {1}> "
REST = "q = Mul (j, j)  y = ReduceSum <keepdims = 0> (q) }"
SQUARE = X + "{ j = Identity (x)  " + REST
PAIRS = {
    "joined": (X + NONE + "{ e = Slice (x, f, f, t)  j = Concat <axis = 1> (x, e, e)  " + REST, SQUARE),
    "joined after arithmetic": (
        X + NONE + "{ e = Slice (x, f, f, t)  d = Exp (e)  c = Mul (d, one)  j = Concat <axis = 1> (c, x)  " + REST, SQUARE),
    "summed": (X + NONE + "{ e = Slice (x, f, f, t)  m = ReduceSum <keepdims = 1> (e, t)  j = Add (x, m)  " + REST, SQUARE),
    "multiplied": (
        X + NONE.replace("float one", "int64[1] n = {3}, float one") +
        "{ e = Slice (x, f, f, t)  r = Concat <axis = 0> (z, n)  w = Reshape <allowzero = 1> (e, r)  m = MatMul (e, w)  "
        "j = Add (x, m)  " + REST, SQUARE),
    "the product of none is one": (
        X + NONE + "{ e = Slice (x, f, f, t)  m = ReduceProd <keepdims = 1> (e, t)  j = Mul (x, m)  " + REST, SQUARE),
    "padded": (
        X + "<int64[1] f = {3}, int64[1] t = {1}, int64[4] p = {0, 1, 0, 2}, float two = {2}> "
        "{ e = Slice (x, f, f, t)  m = Pad (e, p, two)  j = Mul (x, m)  " + REST,
        X + "<float two = {2}> { j = Mul (x, two)  " + REST),
    "the largest of none is below all": (
        X + NONE + "{ e = Slice (x, f, f, t)  m = ReduceMax <keepdims = 1> (e, t)  j = Max (x, m)  " + REST,
        X + "<float i = {-inf}, int64[2] s = {2, 1}> { m = Expand (i, s)  j = Max (x, m)  " + REST),
    "einsum": (
        X + NONE + "{ e = Slice (x, f, f, t)  w = Einsum <equation = \"ij,ik->jk\"> (e, x)  m = Einsum <equation = \"ij,jk\"> (e, w)  "
        "j = Add (x, m)  " + REST, SQUARE),
    "split off": (
        X + "<int64[2] c = {0, 3}> { e, j = Split <axis = 1> (x, c)  " + REST, SQUARE),
}
REFUSED = (
    ("picked from", X + NONE + "{ e = Slice (x, f, f, t)  j = Gather <axis = 1> (e, z)  " + REST,
     "an index must be within the 0 cells of the axis"),
    ("the place of the largest", X + NONE + "{ e = Slice (x, f, f, t)  i = ArgMax <axis = 1> (e)  j = Cast <to = 1> (i)  " + REST,
     "(ArgMax): cannot read a tensor without elements, got: 'tensor<2x0xf32>'; leave the node out of the export"),
)
sys.exit(pairs.compare(command, folder, '<ir_version: 10, opset_import: ["" : 18]>\n', PAIRS, REFUSED))
