//===- Passes.td - Passes that distribute a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_PASSES
#define DTCC_PASSES_SPMD_PASSES

include "mlir/Pass/PassBase.td"

def SpmdApplyPlan : Pass<"spmd-apply-plan", "::mlir::ModuleOp"> {
  let summary = "give every tensor of a training step its layout";
  let description = [{
    Reads a plan (docs/plan-format.md), or makes one from `mesh` and `zero` in which the
    batch alone is split. Each op gets axes for its factors; the types of its operands
    and results are projections of these. Where a producer and a consumer differ stands
    one `spmd.reshard`. Sizes that do not divide are padded, the same for every tensor
    of a factor class.

    With `mesh=mb=2,dp=2` the product

    ```mlir
    %y = graph.contract "bk,kn->bn" %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    ```
    of an input %x becomes
    ```mlir
    %y = graph.contract "bk,kn->bn" %x, %w : (!spmd.tensor<8x4xf32, @mesh, [{mb,dp},{} ]>,
        !spmd.tensor<4x6xf32, @mesh, [{},{} ]>) -> !spmd.tensor<8x6xf32, @mesh, [{mb,dp},{} ]>
    ```
    Tested by tests/passes/spmd/apply-plan.mlir.
  }];
  let options = [
    Option<"planFile", "plan", "std::string", "\"\"", "the plan, a JSON file">,
    Option<"mesh", "mesh", "std::string", "\"\"", "instead of a plan: sizes of mb, dp, tp and cp, as mb=2,dp=2">,
    Option<"zero", "zero", "int64_t", "0", "with mesh: the ZeRO stage">,
    Option<"offload", "offload", "bool", "false", "with mesh: what only the update touches lies with the host">,
  ];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdVerify : Pass<"spmd-verify", "::mlir::ModuleOp"> {
  let summary = "check what lowering relies on in a distributed training step";
  let description = [{
    Axes exist and extents divide; the layouts of an op follow from axes of its factors;
    partial sums reach linear operands alone; reshards are possible; sums over padded
    cells see zeros, and no padding is trained; states are read and updated as they lie.
    It changes nothing. For example

    ```mlir
    %y = graph.relu %x : !spmd.tensor<8x6xf32, @mesh, [{dp},{} ], partial(sum {tp})>
    ```
    is refused: relu is not linear. Tested by tests/passes/spmd/verify-errors.mlir.
  }];
}

def SpmdDispatchExperts : Pass<"spmd-dispatch-experts", "::mlir::ModuleOp"> {
  let summary = "send tokens to the ranks whose experts they picked, and no others";
  let description = [{
    For each expert layer whose entry in the plan says `dispatch`: the reshard that gathers
    rows of tokens over the axes of the experts becomes `spmd.dispatch_rows`, the one that
    scatters partial sums `spmd.combine_rows`, in the forward and in the backward pass. Picks,
    their weights and the gradients of these, some numbers a token, are gathered and scattered
    as before.

    ```mlir
    %g = spmd.reshard %x : !spmd.tensor<8x16xf32, @mesh, [{dp,ep},{} ]> -> !spmd.tensor<8x16xf32, @mesh, [{dp},{} ]>
    ```
    becomes
    ```mlir
    %g = spmd.dispatch_rows %x, %ids over ["ep"] experts 1 : (!spmd.tensor<8x16xf32, @mesh, [{dp,ep},{} ]>,
        !spmd.tensor<8x2xi64, @mesh, [{dp},{} ]>) -> !spmd.tensor<8x16xf32, @mesh, [{dp},{} ]>
    ```
    Tested by tests/passes/spmd/dispatch-experts.mlir.
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdAssignComputeTypes : Pass<"spmd-assign-compute-types", "::mlir::ModuleOp"> {
  let summary = "read parameters in the narrow type that all their readers cast them to";
  let description = [{
    A parameter of which nothing is read but casts to one narrower type, possibly of its
    transpose or of a part of it, gets that type as `spmd.compute`; the casts vanish, and
    the read, what moves its cells and the reshards between are in that type. Parameters
    that are read in their own type too, such as the scales of norms, stay as they are.

    ```mlir
    %w = graph.read @w : !spmd.tensor<4x6xf32, @mesh, [{},{} ]>
    %c = graph.cast %w : (!spmd.tensor<4x6xf32, @mesh, [{},{} ]>) -> !spmd.tensor<4x6xbf16, @mesh, [{},{} ]>
    ```
    becomes
    ```mlir
    %c = graph.read @w : !spmd.tensor<4x6xbf16, @mesh, [{},{} ]>
    ```
    Tested by tests/passes/spmd/compute-types.mlir.
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdFormUnits : Pass<"spmd-form-units", "::mlir::ModuleOp"> {
  let summary = "choose which states are gathered and reduced together";
  let description = [{
    Gives each state that ranks share whole (ZeRO 2 and 3) the name of its unit, `spmd.unit`:
    the blocks that repeat in the model, embeddings and heads by themselves. Other
    gradients that ranks sum get units too, in the order in which the backward pass
    completes them, of a size at which starting reductions costs as much as the last one
    that nothing hides (planner/cost/BucketSize.h).

    ```mlir
    graph.state @h.1.w : tensor<64x64xf32> ... {spmd.flat = ["dp"], spmd.zero = 3 : i64}
    ```
    gets `spmd.unit = "h.1"`. Tested by tests/passes/spmd/units.mlir.
  }];
  let options = [
    Option<"latencyBytes", "latency-bytes", "double", "15e3", "bytes whose transfer takes as long as its start">,
  ];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdPlaceUnits : Pass<"spmd-place-units", "::mlir::ModuleOp"> {
  let summary = "gather units ahead of their use, release them, reduce gradients and send when they are complete";
  let description = [{
    Of all gathers of a unit in a phase one is left for uses near each other, those with
    fewer than two other units between them: for the forward and for the backward pass
    (with what is computed again for it); at most three. A gather stands one unit
    ahead of its use; an `spmd.release` follows the last use. Reductions of gradients
    follow the last accumulation, also out of the update phase, in the last run of the
    phase alone (`slot`); those of a stage that others follow on the rank are dealt out
    over the runs of these, up to the last run of the next stage that is complete. Sums
    in which other stages take part stay. A message is sent when its value is made.

    ```mlir
    %u = spmd.gather_unit @params.1 over ["dp"] : tensor<4096xf32>
    %w = spmd.unit_view %u[0] : tensor<4096xf32> -> tensor<64x64xf32>
    %y = graph.contract "bk,kn->bn" %x, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    spmd.release %u : tensor<4096xf32>
    ```
    Tested by tests/passes/spmd/units.mlir.
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdLowerToProgram : Pass<"spmd-lower-to-program", "::mlir::ModuleOp"> {
  let summary = "make the program of a rank from a distributed training step";
  let description = [{
    Replaces `@step` on !spmd.tensor by an `spmd.program` on local tensors: reshards
    become collectives, states become ranges of buckets, gradients and the loss are
    accumulated over micro-batches, and the update phase reduces gradients, takes their
    norm and updates the share of a rank. Ops that no input reaches run once a step.

    ```mlir
    %z = spmd.reshard %y : !spmd.tensor<8x6xf32, @mesh, [{dp},{} ], partial(sum {tp})> -> !spmd.tensor<8x6xf32, @mesh, [{dp},{} ]>
    ```
    becomes
    ```mlir
    %z = spmd.all_reduce sum %y over ["tp"] : tensor<4x6xf32>
    ```
    Tested by tests/passes/spmd/lower-to-program.mlir.
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdPrintCollectives : Pass<"spmd-print-collectives", "::mlir::ModuleOp"> {
  let summary = "list what a step communicates, by count and bytes";
  let description = [{
    One line for each phase, kind and set of axes of an `spmd.program`, per rank and step.
    For

    ```mlir
    %s = spmd.reduce_scatter sum %g dim 0 over ["dp"] : tensor<128xf32> -> tensor<64xf32>
    ```
    it says `update reduce_scatter over dp (2 ranks): 1 x, 512 bytes`. Tested by
    tests/passes/spmd/print-collectives.mlir.
  }];
}

def SpmdMergeChannels : Pass<"spmd-merge-channels", "::mlir::ModuleOp"> {
  let summary = "one channel for all messages of a stage to another that both have in one order";
  let description = [{
    The lowering gives each edge between two phases a channel, so that messages of one do not wait for those of
    another: a stage of several virtual ones has many to each neighbour. Where the sender sends in the order in which
    the receiver receives, one does for all; a GPU's library has buffers for each. Example
    (tests/passes/spmd/merge-channels.mlir): `spmd.send %x to 1 over "pp" channel 0` in two phases.
  }];
}

def SpmdReserveMessages : Pass<"spmd-reserve-messages", "::mlir::ModuleOp"> {
  let summary = "room for as many messages as the stages of a pipeline need not to wait for each other for ever";
  let description = [{
    One of a kind may be on its way, which is enough where every value goes to the next
    stage. A value that skips stages is made for several micro-batches before it is taken
    for the first: its send gets `room` for more, as few as let the step end. Example
    (tests/passes/spmd/reserve-messages.mlir): `spmd.send %x to 1 over "pp" channel 1 room 3`.
  }];
}

def SpmdVerifyProgram : Pass<"spmd-verify-program", "::mlir::ModuleOp"> {
  let summary = "check the programs of a rank before they become commands";
  let description = [{
    Input: the `spmd.program` of a step, or of each stage of a pipeline. Output: the same.
    Guarantees: all values are local tensors and no `spmd.reshard` is left; every state lies inside its buckets,
    apart from all others; nothing reads a gathered unit behind its `spmd.release`; the messages and collectives of
    the stages meet, so that every stage ends and every message is received.
    It refuses, as tests/passes/spmd/verify-program-errors.mlir shows:
    ```mlir
    spmd.release %u : tensor<64xf32>
    %w = spmd.unit_view %u[0] : tensor<64xf32> -> tensor<8xf32>
    ```
  }];
}

#endif // DTCC_PASSES_SPMD_PASSES
