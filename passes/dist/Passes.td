//===- Passes.td - Passes that distribute a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_DIST_PASSES
#define DTCC_PASSES_DIST_PASSES

include "mlir/Pass/PassBase.td"

def DistApplyPlan : Pass<"dist-apply-plan", "::mlir::ModuleOp"> {
  let summary = "give every tensor of a training step its layout";
  let description = [{
    Reads a plan (docs/plan-format.md), or makes one from `mesh` and `zero` in which the
    batch alone is split. Each op gets axes for its factors; the types of its operands
    and results are projections of these. Where a producer and a consumer differ stands
    one `dist.reshard`. Sizes that do not divide are padded, the same for every tensor
    of a factor class.

    With `mesh=mb=2,dp=2` the product

    ```mlir
    %y = graph.contract "bk,kn->bn" %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    ```
    of an input %x becomes
    ```mlir
    %y = graph.contract "bk,kn->bn" %x, %w : (!dist.tensor<8x4xf32, @mesh, [{mb,dp},{} ]>,
        !dist.tensor<4x6xf32, @mesh, [{},{} ]>) -> !dist.tensor<8x6xf32, @mesh, [{mb,dp},{} ]>
    ```
    Tested by tests/passes/dist/apply-plan.mlir.
  }];
  let options = [
    Option<"planFile", "plan", "std::string", "\"\"", "the plan, a JSON file">,
    Option<"mesh", "mesh", "std::string", "\"\"", "instead of a plan: sizes of mb, dp and tp, as mb=2,dp=2">,
    Option<"zero", "zero", "int64_t", "0", "with mesh: the ZeRO stage, 0 or 1">,
  ];
  let dependentDialects = ["::dtcc::dist::DistDialect"];
}

def DistLowerToProgram : Pass<"dist-lower-to-program", "::mlir::ModuleOp"> {
  let summary = "make the program of a rank from a distributed training step";
  let description = [{
    Replaces `@step` on !dist.tensor by a `dist.program` on local tensors: reshards
    become collectives, states become ranges of buckets, gradients and the loss are
    accumulated over micro-batches, and the update phase reduces gradients, takes their
    norm and updates the share of a rank. Ops that no input reaches run once a step.

    ```mlir
    %z = dist.reshard %y : !dist.tensor<8x6xf32, @mesh, [{dp},{} ], partial(sum {tp})> -> !dist.tensor<8x6xf32, @mesh, [{dp},{} ]>
    ```
    becomes
    ```mlir
    %z = dist.all_reduce sum %y over ["tp"] : tensor<4x6xf32>
    ```
    Tested by tests/passes/dist/lower-to-program.mlir.
  }];
  let dependentDialects = ["::dtcc::dist::DistDialect"];
}

#endif // DTCC_PASSES_DIST_PASSES
