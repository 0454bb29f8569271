//===- Passes.td - Passes on the graph dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_PASSES
#define DTCC_PASSES_GRAPH_PASSES

include "mlir/Pass/PassBase.td"

def GraphCanonicalize : Pass<"graph-canonicalize", "::mlir::ModuleOp"> {
  let summary = "fold movement ops into their neighbours";
  let description = [{
    A transpose of an operand or of the result of `graph.contract` is another order of
    its letters, and pairs of transposes compose. Example:

    ```mlir
    %t = graph.transpose %w array<i64: 1, 0> : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %y = graph.contract "bk,kn->bn" %x, %t : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
    ```
    becomes
    ```mlir
    %y = graph.contract "bk,nk->bn" %x, %w : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
    ```
    Tested by tests/passes/graph/canonicalize.mlir.
  }];
}

#endif // DTCC_PASSES_GRAPH_PASSES
