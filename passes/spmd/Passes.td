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
    Input: `@step` on whole tensors, and a plan (docs/plan-format.md). Without a plan file the pass makes a plan from
    `parallelism` that splits samples, positions and state alone. Output: the same ops on `!spmd.tensor`.

    The plan gives each op mesh axes for its factors. The layouts of operands and results are projections of these
    axes. If a producer and a consumer differ, one `spmd.reshard` stands between them.

    With several micro-batches, a value of data alone that all of them need (the count of all labels) is computed again
    from inputs that the step reads once more, without the time axis in their layout (WholeBatch.h). Other values that
    need samples of several micro-batches are refused.

    Guarantees: sizes that do not divide are padded, with one padded size for all tensors of a factor class. Every
    `graph.state` has its layout as `spmd.layout`. spmd-verify checks the result.

    Example (tests/passes/spmd/apply-plan.mlir): with `parallelism=dp=2,microbatches=2` the product
    ```mlir
    %y = graph.contract "bk,kn->bn" %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    ```
    of an input %x becomes
    ```mlir
    %y = graph.contract "bk,kn->bn" %x, %w : (!spmd.tensor<8x4xf32, @mesh, [{mb,dp},{} ]>,
        !spmd.tensor<4x6xf32, @mesh, [{},{} ]>) -> !spmd.tensor<8x6xf32, @mesh, [{mb,dp},{} ]>
    ```
  }];
  let options = [
    Option<"planFile", "plan", "std::string", "\"\"", "the plan, a JSON file">,
    Option<"parallelism", "parallelism", "std::string", "\"\"",
           "instead of a plan: dp=2,microbatches=2,zero=1,offload=optimizer or the like, without pp and ep">,
  ];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdVerify : Pass<"spmd-verify", "::mlir::ModuleOp"> {
  let summary = "check what lowering relies on in a distributed training step";
  let description = [{
    Input: `@step` on `!spmd.tensor`. Output: the same step, unchanged.

    Guarantees: axes exist and sizes divide. The layouts of an op follow from axes of its factors. Only linear
    operands are partial sums. Reshards are possible. Sums over padded cells see zeros, and no padding is trained.
    States are read and updated in the layout in which they are stored.

    Example of a refused op, from tests/passes/spmd/verify-errors.mlir, because relu is not linear:
    ```mlir
    %y = graph.relu %x : !spmd.tensor<8x6xf32, @mesh, [{dp},{} ], partial(sum {tp})>
    ```
  }];
}

def SpmdDispatchExperts : Pass<"spmd-dispatch-experts", "::mlir::ModuleOp"> {
  let summary = "send tokens only to the ranks that hold their experts";
  let description = [{
    Input: `@step` on `!spmd.tensor`, with `spmd.dispatch` at the expert layers that the plan dispatches.
    Output: the same step, in which rows of tokens of these layers are exchanged by dispatch and combine.

    The reshard that gathers rows of tokens over the axes of the experts becomes `spmd.dispatch_rows`. The reshard
    that scatters partial sums becomes `spmd.combine_rows`. Both hold in the forward and in the backward pass.

    Guarantees: layouts stay. The selected experts, their weights and the gradients of these weights are a few numbers
    a token, and are gathered and scattered as before.

    Example (tests/passes/spmd/dispatch-experts.mlir):
    ```mlir
    %g = spmd.reshard %x : !spmd.tensor<8x16xf32, @mesh, [{dp,ep},{} ]> -> !spmd.tensor<8x16xf32, @mesh, [{dp},{} ]>
    ```
    becomes
    ```mlir
    %g = spmd.dispatch_rows %x, %ids over ["ep"] experts 1 : (!spmd.tensor<8x16xf32, @mesh, [{dp,ep},{} ]>,
        !spmd.tensor<8x2xi64, @mesh, [{dp},{} ]>) -> !spmd.tensor<8x16xf32, @mesh, [{dp},{} ]>
    ```
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdAssignComputeTypes : Pass<"spmd-assign-compute-types", "::mlir::ModuleOp"> {
  let summary = "read parameters in the narrow type to which all readers cast them";
  let description = [{
    Input: `@step` on `!spmd.tensor` with f32 parameters. Output: the same step, in which parameters with narrow
    readers are read in that type, named by `spmd.compute` on the `graph.state`.

    This holds for a parameter all of whose readers are casts to one narrower type, possibly behind reshards and ops
    that only move cells, as a transpose. The casts are removed, and the ops between use the narrow type.

    Guarantees: results have the same bits, because a cast rounds each cell alone. A parameter that some op reads in
    its own type, such as the scale of a norm, stays as it is.

    Example (tests/passes/spmd/compute-types.mlir):
    ```mlir
    %w = graph.read @w : !spmd.tensor<4x6xf32, @mesh, [{},{} ]>
    %c = graph.cast %w : (!spmd.tensor<4x6xf32, @mesh, [{},{} ]>) -> !spmd.tensor<4x6xbf16, @mesh, [{},{} ]>
    ```
    becomes
    ```mlir
    %c = graph.read @w : !spmd.tensor<4x6xbf16, @mesh, [{},{} ]>
    ```
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdFormUnits : Pass<"spmd-form-units", "::mlir::ModuleOp"> {
  let summary = "choose which states are gathered and reduced together";
  let description = [{
    Input: `@step` on `!spmd.tensor`. Output: the same step, with the name of a unit, `spmd.unit`, on each state that
    ranks gather or reduce.

    Under ZeRO 2 and 3 the units are the repeated blocks of the model; embeddings and heads are units of their own.
    Other gradients that ranks sum, or that early updates read, form units in the order in which the backward pass completes them. The size of
    these units balances the cost of starting reductions against the last reduction, which nothing hides
    (planner/cost/BucketSize.h).

    An optimizer that orthogonalizes whole matrices makes buckets larger: of each one a rank orthogonalizes a matrix that
    other ranks have too, in the time of which ranks gather its FLOP times `bytes-per-flop`.

    Blocks and states smaller than `latency-bytes` are merged with their neighbours.

    Guarantees: all states of a unit are communicated in one type, f32 or their compute type.

    Example (tests/passes/spmd/units.mlir): the state
    ```mlir
    graph.state @h.1.w : tensor<64x64xf32> ... {spmd.flat = ["dp"], spmd.zero = 3 : i64}
    ```
    gets `spmd.unit = "h.1"`.
  }];
  let options = [
    Option<"latencyBytes", "latency-bytes", "double", "15e3", "bytes whose transfer takes as long as the start of a collective">,
    Option<"bytesPerFlop", "bytes-per-flop", "double", "0", "bytes that all ranks gather in the time of a FLOP">,
  ];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdPlaceUnits : Pass<"spmd-place-units", "::mlir::ModuleOp"> {
  let summary = "gather units ahead of their use, release them, and reduce and send as early as possible";
  let description = [{
    Input: an `spmd.program` as lowered: each use of a unit gathers it, and reductions and sends stand at the end.
    Output: the same program, with these ops where they overlap with computation.

    Gathers of the same unit are merged if fewer than two other units are used between them. A unit is thus gathered
    once for the forward and once for the backward pass with its recomputation, at most three times a phase. A gather
    stands one unit ahead of its use, and an `spmd.release` follows the last use.

    A gradient reduction moves behind the last accumulation into its bucket, out of the update phase if need be. There
    it runs in the last slot of a phase that repeats (`slot`). If other stages of the rank run after it, the
    reductions of a stage are distributed over these runs, up to the last run of the next stage that is complete. A
    message is sent when its value is computed.

    Guarantees: every gathered unit is released after its last use. A sum in which other stages of the pipeline take
    part stays in the update phase.

    Example (tests/passes/spmd/units.mlir):
    ```mlir
    %u = spmd.gather_unit @params.1 over ["dp"] : tensor<4096xf32>
    %w = spmd.unit_view %u[0] : tensor<4096xf32> -> tensor<64x64xf32>
    %y = graph.contract "bk,kn->bn" %x, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    spmd.release %u : tensor<4096xf32>
    ```
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdLowerToProgram : Pass<"spmd-lower-to-program", "::mlir::ModuleOp"> {
  let summary = "make the program of a rank from a distributed training step";
  let description = [{
    Input: `@step` on `!spmd.tensor`, which spmd-verify accepts. Output: one `spmd.program` on local tensors, or one
    for each stage of a pipeline.

    Reshards become collectives, and states become ranges of buckets. Gradients and the loss are accumulated over
    micro-batches. The update phase reduces gradients, computes their norm and updates the shard of the rank. Ops that
    depend on no input run once a step.

    Guarantees: no `!spmd.tensor` value and no `spmd.reshard` is left. The program has the same text on all ranks of a
    stage.

    Example (tests/passes/spmd/lower-to-program.mlir):
    ```mlir
    %z = spmd.reshard %y : !spmd.tensor<8x6xf32, @mesh, [{dp},{} ], partial(sum {tp})> -> !spmd.tensor<8x6xf32, @mesh, [{dp},{} ]>
    ```
    becomes
    ```mlir
    %z = spmd.all_reduce sum %y over ["tp"] : tensor<4x6xf32>
    ```
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def SpmdPrintCollectives : Pass<"spmd-print-collectives", "::mlir::ModuleOp"> {
  let summary = "list the communication of a step by count and bytes";
  let description = [{
    Input: an `spmd.program`. Output: the same program, unchanged, and on standard output one line for each phase,
    kind and set of axes.

    Guarantees: counts and bytes are those of one rank and one step.

    Example (tests/passes/spmd/print-collectives.mlir): for
    ```mlir
    %s = spmd.reduce_scatter sum %g dim 0 over ["dp"] : tensor<128xf32> -> tensor<64xf32>
    ```
    the pass prints `update reduce_scatter over dp (2 ranks): 1 x, 512 bytes`.
  }];
}

def SpmdMergeChannels : Pass<"spmd-merge-channels", "::mlir::ModuleOp"> {
  let summary = "merge the channels between two stages whose messages have one order";
  let description = [{
    Input: the `spmd.program`s of a pipeline, with a channel for each edge between two phases, so that messages of one
    edge do not wait for those of another. Output: the same programs with fewer channels.

    A stage that consists of several virtual stages has many channels to each neighbour, and a GPU's library holds
    buffers for each channel. Channels are merged if the sender sends their messages in the order in which the
    receiver receives them.

    Guarantees: each message reaches the same receive. A program that is no pipeline stays as it is.

    Example (tests/passes/spmd/merge-channels.mlir): `spmd.send %x to 1 over "pp" channel 0` in two phases.
  }];
}

def SpmdReserveMessages : Pass<"spmd-reserve-messages", "::mlir::ModuleOp"> {
  let summary = "give sends enough room that the stages of a pipeline cannot deadlock";
  let description = [{
    Input: the `spmd.program`s of a pipeline. Output: the same programs with the attribute `room` on sends.

    By default one message of a send may be in flight, which is enough if every value goes to the next stage. A value
    that skips stages is computed for several micro-batches before the first of them is received. Its send gets `room`
    for more messages.

    Guarantees: the room is the least with which every stage ends. If no room suffices, spmd-verify-program reports
    the deadlock.

    Example (tests/passes/spmd/reserve-messages.mlir): `spmd.send %x to 1 over "pp" channel 1 room 3`.
  }];
}

def SpmdVerifyProgram : Pass<"spmd-verify-program", "::mlir::ModuleOp"> {
  let summary = "check the programs of a rank before they become commands";
  let description = [{
    Input: the `spmd.program` of a step, or of each stage of a pipeline. Output: the same programs, unchanged.

    Guarantees: all values are local tensors and no `spmd.reshard` is left. Every state lies inside its buckets, and
    no two states overlap. No op reads a gathered unit after its `spmd.release`. The messages and collectives of the
    stages match, so that every stage ends and every message is received.

    Example of a refused program, from tests/passes/spmd/verify-program-errors.mlir:
    ```mlir
    spmd.release %u : tensor<64xf32>
    %w = spmd.unit_view %u[0] : tensor<64xf32> -> tensor<8xf32>
    ```
  }];
}

#endif // DTCC_PASSES_SPMD_PASSES
