//===- LayoutOps.td - Meshes and layouts of whole tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_DIALECTS_SPMD_LAYOUTOPS
#define DTCC_DIALECTS_SPMD_LAYOUTOPS

include "dialects/spmd/Spmd.td"

def Spmd_MeshOp : Spmd_Op<"mesh", [Symbol]> {
  let summary = "named axes, outermost first, over which tensors are split";
  let description = [{
    ```
    spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 2, rank>]
    ```
    A mesh has at most one time axis, which comes first and counts the micro-batches of a step.

    Made by spmd-apply-plan. Consumed by `compiler/emit`, which writes the axes of the image. None is left after the
    image is written.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Spmd_AxesArray:$axes);
  let assemblyFormat = "$sym_name $axes attr-dict";
  let hasVerifier = 1;
}
def Spmd_ReshardOp : Spmd_Op<"reshard", [Pure]> {
  let summary = "the same tensor in another layout";
  let description = [{
    Shape, element type, mesh and padding stay. Lowered to the cheapest sequence of
    collectives by the reshard planner.

    Made by spmd-apply-plan. Consumed by spmd-dispatch-experts, which replaces those around expert layers, and
    spmd-lower-to-program, which makes collectives. None is left after spmd-lower-to-program.
  }];
  let arguments = (ins Spmd_TensorType:$x);
  let results = (outs Spmd_TensorType:$y);
  let assemblyFormat = "$x attr-dict `:` qualified(type($x)) `->` qualified(type($y))";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_SPMD_LAYOUTOPS
