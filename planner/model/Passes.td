//===- Passes.td - Passes that search for plans
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PLANNER_MODEL_PASSES
#define DTCC_PLANNER_MODEL_PASSES

include "mlir/Pass/PassBase.td"

def SpmdSearchPlan : Pass<"spmd-search-plan", "::mlir::ModuleOp"> {
  let summary = "search the best plan for a number of ranks, and apply it";
  let description = [{
    Input: `@step` on whole tensors. Output: the same ops on `!spmd.tensor`, with the layouts of the best plan.

    The pass prices every factoring of `ranks` into data-parallel and tensor-parallel ranks, with every ZeRO stage,
    each with the placement of ops and states that costs least (SolvePlacement.h). It applies the best plan as
    spmd-apply-plan does. An option that gives a size fixes it.

    Guarantees: those of spmd-apply-plan.

    Example (tests/passes/spmd/search-plan.mlir): with `ranks=2 tp=2` the first product of a feed-forward block is
    split by columns, the second by rows:
    ```mlir
    %h = graph.contract "bk,kn->bn" %x, %w1 : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
    ```
    becomes
    ```mlir
    %h = graph.contract "bk,kn->bn" %x, %w1 : (!spmd.tensor<8x64xf32, @mesh, [{},{} ]>,
        !spmd.tensor<64x256xf32, @mesh, [{},{tp} ]>) -> !spmd.tensor<8x256xf32, @mesh, [{},{tp} ]>
    ```
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "1", "ranks of the cluster">,
    Option<"cores", "cores", "int64_t", "1", "cores that they share">,
    Option<"memory", "memory", "double", "0", "bytes that they share; 0: not known">,
    Option<"dp", "dp", "int64_t", "-1", "data-parallel ranks; -1: searched">,
    Option<"tp", "tp", "int64_t", "-1", "tensor-parallel ranks; -1: searched">,
    Option<"ep", "ep", "int64_t", "1", "expert-parallel ranks, beside dp">,
    Option<"zero", "zero", "int64_t", "-1", "ZeRO stage; -1: searched">,
    Option<"microbatches", "microbatches", "int64_t", "1", "micro-batches of a step">,
  ];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

#endif // DTCC_PLANNER_MODEL_PASSES
