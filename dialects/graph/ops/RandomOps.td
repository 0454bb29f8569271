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
    A cell stays if its random number in [0, 1) is at least `ratio`. The gradient is a
    dropout with the same `id`.

    Made by the importer and graph-differentiate. Consumed by exec-fuse, which moves the op into an `exec.fused`.
    None is left after exec-generate-kernels or exec-generate-gpu-kernels.
  }];
  let arguments = (ins Graph_FloatTensor:$x, F64Attr:$ratio, I64Attr:$id,
                       OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<ArrayAttr>:$offset_axes);
}

def Graph_UniformOp : Graph_RandomOp<"uniform", [Graph_OwnPrecision]> {
  let summary = "a random number in (0, 1) for each cell";
  let description = [{
    The numbers are the odd multiples of 2^-24, each equally likely: f32 holds them exactly,
    and their logarithm is finite. `x` gives the shape alone and receives no gradient. Under
    bf16 and f16, which would round some numbers to 0 or 1, the op stays f32. The importer
    computes other distributions from this one (`frontends/onnx/ops/Random.cpp`).

    Made by the importer. Consumed by exec-fuse, which moves the op into an `exec.fused`. None is left after
    exec-generate-kernels or exec-generate-gpu-kernels.
  }];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$id,
                       OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<ArrayAttr>:$offset_axes);
}

#endif // DTCC_DIALECTS_GRAPH_RANDOMOPS
