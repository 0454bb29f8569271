//===- LayoutOps.td - Meshes and layouts of whole tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_DIALECTS_DIST_LAYOUTOPS
#define DTCC_DIALECTS_DIST_LAYOUTOPS

include "dialects/dist/Dist.td"

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "named axes, outermost first, over which tensors are split";
  let description = [{
    ```
    dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>, #dist.axis<"tp", 2, rank>]
    ```
    At most one time axis, which stands first: the micro-batches of a step.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Dist_AxesArray:$axes);
  let assemblyFormat = "$sym_name $axes attr-dict";
  let hasVerifier = 1;
}
def Dist_ReshardOp : Dist_Op<"reshard", [Pure]> {
  let summary = "the same tensor in another layout";
  let description = [{
    Shape, element type, mesh and padding stay. Lowered to the cheapest sequence of
    collectives by the reshard planner.
  }];
  let arguments = (ins Dist_TensorType:$x);
  let results = (outs Dist_TensorType:$y);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x)) `->` qualified(type($y))";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_DIST_LAYOUTOPS
