//===- RandomOps.td - Random numbers of a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The random number of a cell is Philox4x32-10 with the key (seed, id) and the counter
// (step, index of the cell in the whole tensor), so it does not depend on the
// placement, and recompute repeats it: see interfaces/Philox.h. On a shard,
// `offset_axes` names the mesh axes that split each dimension and `global_shape` the
// whole shape.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_RANDOMOPS
#define DTCC_DIALECTS_GRAPH_RANDOMOPS

include "dialects/graph/ElementwiseInterface.td"
include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"

class Graph_RandomOp<string mnemonic, list<Trait> traits = []>
    : Graph_DiffOp<mnemonic, !listconcat([SameOperandsAndResultType,
                                          DeclareOpInterfaceMethods<IndexedCellOpInterface>], traits)> {
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Graph_DropoutOp : Graph_RandomOp<"dropout"> {
  let summary = "zeroes cells at random, scales the others by 1 / (1 - ratio)";
  let description = [{
    A cell stays where its number in [0, 1) is at least `ratio`. The gradient is the
    same op with the same `id` on the gradient.
  }];
  let arguments = (ins Graph_FloatTensor:$x, F64Attr:$ratio, I64Attr:$id,
                       OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<ArrayAttr>:$offset_axes);
}

def Graph_UniformOp : Graph_RandomOp<"uniform", [Graph_OwnPrecision]> {
  let summary = "a random number of (0, 1) in each cell";
  let description = [{
    The odd multiples of 2^-24, each as likely: f32 holds them, and their logarithm is
    finite. `x` gives the shape alone, so nothing of the gradient goes to it. Under
    bf16 and f16, which would round some to 0 or 1, it stays f32. Other distributions
    are made of it (`frontends/onnx/ops/Random.cpp`).
  }];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$id,
                       OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<ArrayAttr>:$offset_axes);
}

#endif // DTCC_DIALECTS_GRAPH_RANDOMOPS
