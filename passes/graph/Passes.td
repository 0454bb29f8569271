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

def GraphFactorDimensions : Pass<"graph-factor-dimensions", "::mlir::ModuleOp"> {
  let summary = "give every tensor its finest dimensions";
  let description = [{
    Splits and merges of dimensions are propagated through the whole module, so that a
    dimension is one factor: reshapes become relabelings and vanish, dimensions of size
    1 go, equal splits become `graph.unstack` and equal joins `graph.stack`. States keep
    their saved shape, inputs and results theirs. A reshape that really mixes factors
    stays. Example:

    ```mlir
    %r = graph.reshape %x : (tensor<2x5x12xf32>) -> tensor<10x12xf32>
    %p = graph.contract "mk,kn->mn" %r, %w : (tensor<10x12xf32>, tensor<12x24xf32>) -> tensor<10x24xf32>
    %h = graph.reshape %p : (tensor<10x24xf32>) -> tensor<2x5x3x8xf32>
    ```
    becomes
    ```mlir
    %h = graph.contract "abc,cde->abde" %x, %w
        : (tensor<2x5x12xf32>, tensor<12x3x8xf32>) -> tensor<2x5x3x8xf32>
    ```
    Tested by tests/passes/graph/factor-dimensions.mlir.
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphRecoverComposites : Pass<"graph-recover-composites", "::mlir::ModuleOp"> {
  let summary = "find norms, activations, rotary, attention and losses in what exporters took apart";
  let description = [{
    By meaning: an anchor proposes a place, a region grows from it by data flow, and the
    region is evaluated at chosen cells and compared with what the composite would give
    (dialects/graph/Rationale.md says what counts as proof). Runs after
    graph-factor-dimensions and graph-canonicalize. For example, in whatever order,

    ```mlir
    %s = graph.logistic %x : tensor<2x3xf32>
    %y = graph.mul %x, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    becomes
    ```mlir
    %y = graph.silu %x : tensor<2x3xf32>
    ```
    Tested by tests/passes/graph/recover-*.mlir.
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphLowerPrecision : Pass<"graph-lower-precision", "::mlir::ModuleOp"> {
  let summary = "compute @loss in bf16 or f16 with f32 parameters";
  let description = [{
    Every op states the float types that it wants (dialects/graph/PrecisionInterface.td,
    the answers in Precision.cpp): products, attention and table rows the compute type;
    statistics of norms, softmax, exponentials and losses f32; cell by cell ops follow
    the widest of their operands, parameters and constants not counted. States stay f32:
    what depends on states alone is converted where an op with data reads it. A sum of
    halves is an f32, and so are the results. Runs before graph-differentiate, which
    gives parameters f32 gradients. Example:

    ```mlir
    %w = graph.read @w : tensor<4x3xf32>
    %y = graph.contract "bk,kn->bn" %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    ```
    becomes
    ```mlir
    %w = graph.read @w : tensor<4x3xf32>
    %xh = graph.cast %x : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    %wh = graph.cast %w : (tensor<4x3xf32>) -> tensor<4x3xbf16>
    %y = graph.contract "bk,kn->bn" %xh, %wh : (tensor<2x4xbf16>, tensor<4x3xbf16>) -> tensor<2x3xbf16>
    ```
    Tested by tests/passes/graph/lower-precision.mlir.
  }];
  let options = [
    Option<"compute", "compute", "std::string", "\"bf16\"", "bf16 or f16">,
  ];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphDifferentiate : Pass<"graph-differentiate", "::mlir::ModuleOp"> {
  let summary = "turn @loss into @step: forward, backward, update";
  let description = [{
    Reverse mode from the loss sum, with seed 1, toward trainable states; the update
    divides by the count. A state on which the loss does not depend is not updated, not
    even by decay, as in PyTorch. Every op is tagged with its origin, its phase and, in
    the backward pass, its factors' origins (dialects/graph/Origin.h). Example:

    ```mlir
    %w = graph.read @w : tensor<4x3xf32>
    %y = graph.contract "bk,kn->bn" %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %sum, %count, %lse = graph.cross_entropy %y, %labels : ...
    return %sum, %count : tensor<f32>, tensor<f32>
    ```
    gains
    ```mlir
    %dy = graph.cross_entropy_grad %y, %labels, %lse {origin = 2, origin_factors = array<i64: 0, 1>, phase = "I"} : ...
    %dw = graph.contract "bn,bk->kn" %dy, %x {origin = 1, origin_factors = array<i64: 2, 1, 0>, phase = "W"} : ...
    %norm = graph.update %count, (%dw) to [@w] {optimizer = #graph.adam<..>, phase = "U", ..} : ...
    return %sum, %count, %norm : tensor<f32>, tensor<f32>, tensor<f32>
    ```
    Tested by tests/passes/graph/differentiate.mlir.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "", "#graph.adam<..>, #graph.sgd<..>, #graph.adagrad<..> or #graph.lion<..>; default: the module's graph.optimizer, else AdamW as PyTorch has it">,
    Option<"clip", "clip", "double", "0.0", "global gradient norm to clip to; 0: the module's graph.clip, else off">,
    Option<"lossScale", "loss-scale", "double", "0.0", "where a dynamic loss scale starts; 0: none">,
  ];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphRecompute : Pass<"graph-recompute", "::mlir::ModuleOp"> {
  let summary = "compute activations again for the backward pass instead of keeping them";
  let description = [{
    Which, says passes/graph/Recompute.h. Backward ops then read clones of forward ops
    (phase R, with the origin of what they repeat, random numbers included), which start
    from barriers on what is kept. What is made of states alone and larger than these, as a bias that
    all rows read, is made again beside them (tests/passes/graph/recompute-states.mlir). Example
    (selective: the activation, not the product):

    ```mlir
    %h = graph.contract "bk,kn->bn" %x, %w : ...
    %y = graph.gelu %h : tensor<2x3xf32>
    %dv = graph.contract "bn,bm->nm" %y, %dz {phase = "W", ..} : ...
    ```
    becomes
    ```mlir
    %h = graph.contract "bk,kn->bn" %x, %w : ...
    %y = graph.gelu %h : tensor<2x3xf32>
    %kept = graph.barrier %h {origin = 1, phase = "R", segment = 0, ..} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %again = graph.gelu %kept {origin = 2, phase = "R", ..} : tensor<2x3xf32>
    %dv = graph.contract "bn,bm->nm" %again, %dz {phase = "W", ..} : ...
    ```
    Tested by tests/passes/graph/recompute.mlir.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"selective\"", "none, selective or full">,
    ListOption<"again", "again", "int64_t", "origins of ops to compute again, whatever the mode">,
    ListOption<"keep", "keep", "int64_t", "origins of ops whose results are kept, whatever the mode">,
  ];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphVerifyStep : Pass<"graph-verify-step", "::mlir::ModuleOp"> {
  let summary = "check what later passes rely on in @step";
  let description = [{
    One update; sum, count and norm as results; every op tagged with origin and phase;
    every backward op with as many origin factors as it has factors, each of the size of
    the forward op's. For example, this is refused, for its two factors have one origin:

    ```mlir
    %dy = graph.neg %y {origin = 2, origin_factors = array<i64: 0>, phase = "I"} : tensor<2x3xf32>
    ```
    Tested by tests/passes/graph/verify-step-errors.mlir.
  }];
}

#endif // DTCC_PASSES_GRAPH_PASSES
