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
    Input: a module of graph ops. Output: the same computation with fewer ops that only move cells.

    A transpose of an operand or of the result of `graph.contract` becomes another order of its letters, and two
    transposes become one. A transpose also moves through a broadcast, through rotary embedding, and through
    elementwise ops if that transposes no more values than before.

    Guarantees: results are equal, and no op is added that moves more cells.

    Example (tests/passes/graph/canonicalize.mlir):
    ```mlir
    %t = graph.transpose %w array<i64: 1, 0> : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %y = graph.contract "bk,kn->bn" %x, %t : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
    ```
    becomes
    ```mlir
    %y = graph.contract "bk,nk->bn" %x, %w : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
    ```
  }];
}

def GraphFactorDimensions : Pass<"graph-factor-dimensions", "::mlir::ModuleOp"> {
  let summary = "give every tensor its finest dimensions";
  let description = [{
    Input: a module as imported. Output: the same computation, in which each dimension is one factor.

    The pass propagates splits and merges of dimensions through the whole module. Reshapes then only rename dimensions
    and vanish, and dimensions of size 1 are removed. Equal splits become `graph.unstack`, and equal joins
    `graph.stack`.

    Guarantees: states keep the shape in which they are saved, and inputs and results of the function keep their
    types. A reshape that mixes factors stays.

    Example (tests/passes/graph/factor-dimensions.mlir):
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
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphRecoverComposites : Pass<"graph-recover-composites", "::mlir::ModuleOp"> {
  let summary = "recover norms, activations, rotary embedding, attention and losses from small ops";
  let description = [{
    Input: a module after graph-factor-dimensions and graph-canonicalize. Output: the same computation, with one
    composite op in place of each region that computes it.

    Regions are recognised by meaning. An anchor op proposes a place, a region grows from it along the data flow, and
    the region is evaluated at chosen cells and compared with the composite. dialects/graph/Rationale.md says what
    counts as proof.

    `log1p` and `expm1` are recognised by their form, log(1 + x) and exp(x) - 1, because rounding is all that tells them
    apart.

    Guarantees: a region whose values differ from the composite's in any compared cell stays as it is.

    Example (tests/passes/graph/recover-*.mlir): with the operands in any order,
    ```mlir
    %s = graph.logistic %x : tensor<2x3xf32>
    %y = graph.mul %x, %s : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    becomes
    ```mlir
    %y = graph.silu %x : tensor<2x3xf32>
    ```
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphMaskDocuments : Pass<"graph-mask-documents", "::mlir::ModuleOp"> {
  let summary = "keep attention within the documents of a window of tokens";
  let description = [{
    Input: `@loss` of a model of tokens, after graph-recover-composites. Output: the same function with an input
    `documents`, the number of the document of each token. If the model looks up positions, there also is an input
    `document_positions`, the position of each token in its document. The program computes both from the tokens.

    Attention to other documents is masked by segments (#graph.mask). A value that depends on the position and not on
    the sample, such as a learned or rotary embedding, is looked up at the position in the document.

    Guarantees: logits of a document are those that it has alone, at the start of a window. The pass fails for a model
    that mixes positions by anything but attention.

    Example (tests/passes/graph/mask-documents.mlir):
    ```mlir
    %p = graph.broadcast %table [1, 2] : (tensor<16x8xf32>) -> tensor<4x16x8xf32>
    %out, %lse = graph.attention %q, %k, %v <causal = true> {..} : ..
    ```
    becomes
    ```mlir
    %p = graph.embedding %table, %document_positions : (tensor<16x8xf32>, tensor<4x16xi64>) -> tensor<4x16x8xf32>
    %out, %lse = graph.attention %q, %k, %v mask(%documents, %documents) <causal = true, segment = true> {..} : ..
    ```
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphNarrowDoubles : Pass<"graph-narrow-doubles", "::mlir::ModuleOp"> {
  let summary = "compute in f32 what @loss computes in f64";
  let description = [{
    Input: `@loss` as imported. Output: the same function without f64: inputs and constants are f32 too, and casts between
    the two are gone. A remark tells of the first op that computed in f64.

    Guarantees: a module with states in f64 is left as it is.

    Example (tests/passes/graph/narrow-doubles.mlir):
    ```mlir
    %d = graph.cast %x : (tensor<4xf32>) -> tensor<4xf64>
    %y = graph.add %d, %t : tensor<4xf64>
    ```
    becomes, where %t is an input,
    ```mlir
    %y = graph.add %x, %t : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphLowerPrecision : Pass<"graph-lower-precision", "::mlir::ModuleOp"> {
  let summary = "compute @loss in bf16 or f16 with f32 parameters";
  let description = [{
    Input: `@loss` in f32, before graph-differentiate. Output: the same function with casts to and from the compute
    type.

    Every op states the float types that it wants (dialects/graph/PrecisionInterface.td; the answers are in
    PrecisionPolicy.cpp). Products, attention and rows of tables use the compute type. Statistics of norms, softmax,
    exponentials and losses use f32. Elementwise ops use the widest type of their operands, parameters and constants
    not counted. Recurrent layers use f32 and learn the compute type (`product_type`), to which the factors of their
    products may be rounded.

    Guarantees: states and results stay f32, and sums of 16-bit floats are f32. A value that depends on states alone
    is cast where an op with data reads it. graph-differentiate then gives parameters f32 gradients.

    Example (tests/passes/graph/lower-precision.mlir):
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
  }];
  let options = [
    Option<"compute", "compute", "std::string", "\"bf16\"", "bf16 or f16">,
  ];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphExpandPowers : Pass<"graph-expand-powers", "::mlir::ModuleOp"> {
  let summary = "rewrite powers with simple constant exponents to products and roots";
  let description = [{
    Input: `@loss`, after graph-lower-precision and before graph-differentiate. Output: the same function, in which a
    `graph.pow` of floats with exponent 1, 2, 3, 0.5, -0.5, -1 or -2 is what PyTorch computes for this exponent:
    products, a root, or a quotient.

    graph-recover-composites runs before, and finds norms in either form. graph-lower-precision runs before, because a
    power is computed in f32, and a product would follow its operands to 16 bits.

    Guarantees: a power with exponent 0 stays, so that the loss still depends on its base and graph-differentiate gives
    zeros as its gradient.

    Example (tests/passes/graph/expand-powers.mlir):
    ```mlir
    %two = graph.constant dense<2.0> : tensor<4xf32> : tensor<4xf32>
    %y = graph.pow %x, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %y = graph.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphSeparateCounts : Pass<"graph-separate-counts", "::mlir::ModuleOp"> {
  let summary = "compute counts of labels from the labels, where a loss divides by them itself";
  let description = [{
    Input: `@loss`, after graph-recover-composites and before graph-differentiate. Output: the same function, in which
    the count of a `graph.cross_entropy` is read by the return of the function alone. Its other readers have the number of
    labels that are not ignored, computed from the labels, or a constant if all labels count.

    A loss of several terms divides each term by a count of its own. The count of a `graph.cross_entropy` comes from an
    op that reads logits, so that a micro-batch would know it only of its own samples. A count of labels depends on
    inputs alone, and spmd-apply-plan lets every micro-batch compute it from the whole batch.

    Guarantees: a loss that is returned as the sum and the count of one cross entropy stays as it is.

    Example (tests/passes/graph/separate-counts.mlir):
    ```mlir
    %sum, %count, %lse = graph.cross_entropy %z, %labels {ignore_index = -100 : i64}
        : (tensor<4x5xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
    %mean = graph.div %sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
    becomes
    ```mlir
    %sum, %none, %lse = graph.cross_entropy %z, %labels {ignore_index = -100 : i64} : ..
    %ignored = graph.constant dense<-100> : tensor<4xi64> : tensor<4xi64>
    %counted = graph.compare ne %labels, %ignored : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %ones = graph.cast %counted : (tensor<4xi1>) -> tensor<4xf32>
    %count = graph.reduce sum %ones [0] : (tensor<4xf32>) -> tensor<f32>
    %mean = graph.div %sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphGroupLosses : Pass<"graph-group-losses", "::mlir::ModuleOp"> {
  let summary = "compute terms of a loss that are no sums over samples from each micro-batch, if the module allows it";
  let description = [{
    Input: `@loss`, after graph-separate-counts and before graph-differentiate, of a module whose attribute
    `graph.loss_groups` is the number of groups of samples, one for each micro-batch. Output: the same function; the
    attribute is gone. A term that is no sum over samples, as a product of two means over the batch, is computed of each
    group by `graph.group_sum`. The mean of the term over the groups replaces the term.

    A micro-batch has its own samples alone, so spmd-apply-plan refuses a loss with such a term. Gradient accumulation
    in other frameworks computes the term of each micro-batch, which is another loss. The option
    `--batch-losses=microbatch` asks for that loss.

    Guarantees: without the attribute nothing changes, nor does a loss that is a sum over samples. A group's term is the
    one that the loss would have if the group were the batch. A sum over the samples of a group is multiplied by the
    number of groups, so that a sum over the batch divided by its samples becomes the mean over the group. Batch norms
    whose groups lie within those of the loss stay as they are. An op of a term that cannot be computed so is an error.

    Example (tests/passes/graph/group-losses.mlir):
    ```mlir
    %sum = graph.reduce sum %p [0] : (tensor<4x3xf32>) -> tensor<3xf32>
    %square = graph.mul %sum, %sum : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    ```
    becomes, in two groups,
    ```mlir
    %sums = graph.group_sum %p {groups = 2 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %two = graph.constant dense<2.0> : tensor<4x3xf32> : tensor<4x3xf32>
    %each = graph.mul %sums, %two : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %squares = graph.mul %each, %each : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %added = graph.reduce sum %squares [0] : (tensor<4x3xf32>) -> tensor<3xf32>
    %quarter = graph.constant dense<0.25> : tensor<3xf32> : tensor<3xf32>
    %square = graph.mul %added, %quarter : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    ```
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphDifferentiate : Pass<"graph-differentiate", "::mlir::ModuleOp"> {
  let summary = "turn @loss into @step: forward, backward, update";
  let description = [{
    Input: `@loss`, which returns the sum of the loss and the count of its labels. Output: `@step`, which also returns
    the norm of the gradients and ends in one `graph.update`.

    Reverse mode starts from the sum of the loss with seed 1 and computes the gradients of trainable states. The
    update divides by the count.

    Guarantees: a state on which the loss does not depend is not updated, not even by weight decay, as in PyTorch.
    Every op has an origin and a phase, and ops of the backward pass have the origins of their factors
    (dialects/graph/Origin.h).

    Example (tests/passes/graph/differentiate.mlir):
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
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "", "#graph.adam<..>, #graph.sgd<..>, #graph.adagrad<..> or #graph.lion<..>; default: the module's graph.optimizer, else AdamW with PyTorch's settings">,
    Option<"clip", "clip", "double", "0.0", "global gradient norm to clip to; 0: the module's graph.clip, else off">,
    Option<"lossScale", "loss-scale", "double", "0.0", "initial value of a dynamic loss scale; 0: no loss scale">,
  ];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphAddEvaluation : Pass<"graph-add-evaluation", "::mlir::ModuleOp"> {
  let summary = "add the loss in evaluation form to the step";
  let description = [{
    Input: `@step`. Output: the same step, followed by its loss once more, in evaluation form: without dropout, and with
    running statistics in place of those of the batch. The step returns the sum and the count of both, then the prediction
    of a model with one cross entropy: hits, or the logits of the rows whose labels count (passes/graph/Evaluation.h).

    The added ops have the phase E. Those that repeat a forward op have its origin, so a plan places them alike.

    Guarantees: no op of the step reads an added op, and added ops read arguments and states alone. A batch norm without
    running statistics normalises by the batch, as in PyTorch.

    Example (tests/passes/graph/add-evaluation.mlir):
    ```mlir
    %y = graph.contract "bk,kn->bn" %x, %w : ...
    %d = graph.dropout %y {ratio = 0.5 : f64, id = 0 : i64} : tensor<2x3xf32>
    %sum, %count, %lse = graph.cross_entropy %d, %labels : ...
    ```
    is followed by
    ```mlir
    %ey = graph.contract "bk,kn->bn" %x, %ew {origin = 1, phase = "E", ..} : ...
    %esum, %ecount, %else = graph.cross_entropy %ey, %labels {origin = 3, phase = "E", ..} : ...
    %hits = graph.reduce sum %hit [0] {origin = 3, phase = "E", ..} : ...
    return %sum, %count, %norm, %esum, %ecount, %hits : ...
    ```
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphRecompute : Pass<"graph-recompute", "::mlir::ModuleOp"> {
  let summary = "recompute activations in the backward pass instead of keeping them";
  let description = [{
    Input: `@step`. Output: the same step, in which ops of the backward pass read clones of forward ops instead of the
    saved activations that the mode drops (passes/graph/Recompute.h says which these are).

    Clones have the phase R and the origin of the op that they repeat. They start from `graph.barrier`s on the values
    that are kept. A value that depends on states alone and is larger than these, as a bias broadcast to all rows, is
    also recomputed (tests/passes/graph/recompute-states.mlir).

    Guarantees: clones compute the same values, random numbers included.

    Example (tests/passes/graph/recompute.mlir): the selective mode recomputes the activation and keeps the product.
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
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"selective\"", "none, selective or full">,
    ListOption<"again", "again", "int64_t", "origins of ops to recompute in any mode">,
    ListOption<"keep", "keep", "int64_t", "origins of ops whose results are kept in any mode">,
  ];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def GraphVerifyStep : Pass<"graph-verify-step", "::mlir::ModuleOp"> {
  let summary = "check what later passes rely on in @step";
  let description = [{
    Input: `@step`. Output: the same step, unchanged.

    Guarantees: there is one update. The results are the sum, the count and the norm. Every op has an origin and a
    phase. Every op of the backward pass has as many origin factors as factors, each of the size of the forward op's
    factor.

    Example of a refused op, from tests/passes/graph/verify-step-errors.mlir, because two factors have one origin:
    ```mlir
    %dy = graph.neg %y {origin = 2, origin_factors = array<i64: 0>, phase = "I"} : tensor<2x3xf32>
    ```
  }];
}

#endif // DTCC_PASSES_GRAPH_PASSES
