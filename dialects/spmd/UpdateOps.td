//===- UpdateOps.td - What ends a step: norm, update, report
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_DIALECTS_SPMD_UPDATEOPS
#define DTCC_DIALECTS_SPMD_UPDATEOPS

include "dialects/spmd/ProgramOps.td"

def Spmd_SumSquaresOp : Spmd_Op<"sum_squares", [Pure]> {
  let summary = "the sum of the squares of all cells of all operands, summed in a fixed order";
  let description = [{
    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Variadic<Spmd_Local>:$xs);
  let results = (outs Spmd_FloatScalar:$y);
  let assemblyFormat = "$xs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Spmd_GradScaleOp : Spmd_Op<"grad_scale", [Pure]> {
  let summary = "norm = sqrt(squares) / count; scale = 1 / count * min(1, clip / (norm + 1e-6)), unclipped if clip is 0";
  let description = [{
    `squares` is the sum of squares of the fully reduced gradients of the loss sum. If
    `loss_scale` is given, the gradients have the factor `loss_scale` * `unit`, which both
    results remove. `finite` (i32) is 1 if the norm is a number, else 0.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_FloatScalar:$squares, Spmd_FloatScalar:$count, Optional<Spmd_FloatScalar>:$loss_scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$clip, DefaultValuedAttr<F64Attr, "1.0">:$unit);
  let results = (outs Spmd_FloatScalar:$norm, Spmd_FloatScalar:$scale, Optional<Spmd_Local>:$finite);
  let assemblyFormat = [{
    $squares `,` $count (`scaled` `by` $loss_scale^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def Spmd_MeanScaleOp : Spmd_Op<"mean_scale", [Pure]> {
  let summary = "scale = 1 / count, or NaN, by which updates change nothing, if the loss sum is not finite or count is 0";
  let description = [{
    The scale of gradients of the loss sum where parameters change once their own gradients are complete: unlike that of
    `grad_scale` it is known behind the forward pass.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_FloatScalar:$loss_sum, Spmd_FloatScalar:$count);
  let results = (outs Spmd_FloatScalar:$scale);
  let assemblyFormat = "$loss_sum `,` $count attr-dict `:` functional-type(operands, results)";
}
def Spmd_AdjustLossScaleOp : Spmd_BucketUser<"adjust_loss_scale", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "increases, keeps or reduces the loss scale after a step; returns the number of steps taken, this one included";
  let description = [{
    Cells `offsets` of the bucket of buffers hold the scale, the number of finite steps in
    a row and the number of steps skipped: see #graph.loss_scale.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, DenseI64ArrayAttr:$offsets, Spmd_Local:$finite, F64Attr:$growth,
                       F64Attr:$backoff, I64Attr:$interval);
  let results = (outs Spmd_Local:$taken);
  let assemblyFormat = "$bucket $offsets `if` $finite attr-dict `:` functional-type($finite, $taken)";
  let hasVerifier = 1;
}
def Spmd_UpdateBucketOp : Spmd_BucketUser<"update_bucket", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one optimizer step on this rank's shard of a parameter bucket";
  let description = [{
    `grad` is the fully reduced gradient of the shard, or of the whole bucket without `flat`
    axes; the op first multiplies it by `scale`. Weight decay and the factor of the learning
    rate are those of the states in the bucket. The other shards of the bucket are out of date
    until `gather_bucket`. With `copy` the new values are also written to the same range of
    that compute bucket, rounded to nearest even. `guard` is empty, or holds an i32 that is 0
    if the step must write nothing, and the i64 number of the step.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_Local:$grad, Spmd_FloatScalar:$scale,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "slot buckets">:$slots, AnyAttr:$optimizer,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$flat, OptionalAttr<FlatSymbolRefAttr>:$copy,
                       Variadic<Spmd_Local>:$guard);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $bucket `,` $grad `,` $scale `slots` $slots (`flat` $flat^)? (`copy` $copy^)? (`guard` `(` $guard^ `:` type($guard) `)`)? `optimizer` `(` $optimizer `)` attr-dict `:` type($grad) `,` type($scale)
  }];
}
/// An op on this rank's shard of a parameter bucket, which `flat` axes share.
class Spmd_ShardUser<string mnemonic, list<Trait> traits = []>
    : Spmd_BucketUser<mnemonic, !listconcat([MemoryEffects<[MemRead, MemWrite]>], traits)>;

def Spmd_FactorSquaresOp : Spmd_ShardUser<"factor_squares"> {
  let summary = "sums of squares of gradients over the rows and columns of each tensor of a bucket, by this rank's cells";
  let description = [{
    The sums lie as the factors of the bucket do (runtime/abi/TensorFactors.h). Gradients are multiplied by `scale` first.
    The sums of all ranks that share the tensors are those of whole rows and columns.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_Local:$grad, Spmd_FloatScalar:$scale,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$flat);
  let results = (outs Spmd_Local:$squares);
  let assemblyFormat = [{
    $bucket `,` $grad `,` $scale (`flat` $flat^)? attr-dict `:` type($grad) `,` type($scale) `->` type($squares)
  }];
}
def Spmd_MakeDirectionOp : Spmd_ShardUser<"make_direction", [AttrSizedOperandSegments]> {
  let summary = "the direction in which an optimizer of whole tensors changes a shard; updates the slots";
  let description = [{
    Operands and attributes are those of `update_bucket`, whose place this op and `apply_direction` take if the optimizer
    needs reductions over whole tensors. An optimizer with factors has their bucket as its slot, and `squares` of whole
    rows and columns (`factor_squares`).

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_Local:$grad, Spmd_FloatScalar:$scale,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "slot buckets">:$slots, Optional<Spmd_Local>:$squares,
                       AnyAttr:$optimizer, DefaultValuedAttr<StrArrayAttr, "{}">:$flat, Variadic<Spmd_Local>:$guard);
  let results = (outs Spmd_Local:$direction);
  let assemblyFormat = [{
    $bucket `,` $grad `,` $scale `slots` $slots (`squares` $squares^ `:` type($squares))? (`flat` $flat^)? (`guard` `(` $guard^ `:` type($guard) `)`)? `optimizer` `(` $optimizer `)` attr-dict `:` type($grad) `,` type($scale) `->` type($direction)
  }];
}
def Spmd_TensorSquaresOp : Spmd_ShardUser<"tensor_squares"> {
  let summary = "sums of squares of the parameters and of the direction, over this rank's cells of each tensor of a bucket";
  let description = [{
    Of tensor i, in the order of the bucket, cell 2 i has the sum over the parameter and cell 2 i + 1 that over the
    direction. The sums of all ranks that share the tensors are the squares of their norms.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_Local:$direction, DefaultValuedAttr<StrArrayAttr, "{}">:$flat);
  let results = (outs Spmd_Local:$squares);
  let assemblyFormat = "$bucket `,` $direction (`flat` $flat^)? attr-dict `:` functional-type($direction, $squares)";
}
def Spmd_OrthogonalizeOp : Spmd_ShardUser<"orthogonalize"> {
  let summary = "this rank's shard of orthogonalized matrices";
  let description = [{
    `whole` holds the directions of the bucket of all ranks that shard its states, one rank behind the other in the order
    of the axes `sharded`: every matrix is whole there.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_Local:$whole, StrArrayAttr:$sharded, AnyAttr:$optimizer,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$flat);
  let results = (outs Spmd_Local:$direction);
  let assemblyFormat = [{
    $bucket `,` $whole `over` $sharded (`flat` $flat^)? `optimizer` `(` $optimizer `)` attr-dict `:` functional-type($whole, $direction)
  }];
}
def Spmd_ApplyDirectionOp : Spmd_ShardUser<"apply_direction", [AttrSizedOperandSegments]> {
  let summary = "one optimizer step of a shard of a parameter bucket along a direction";
  let description = [{
    With `squares` the size of each tensor's step depends on norms: the trust ratio of LAMB, or that of Adafactor. Nothing is written if `scale` is not a
    number. `copy` and `guard` are those of `update_bucket`.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_Local:$direction, Spmd_FloatScalar:$scale,
                       Optional<Spmd_Local>:$squares, AnyAttr:$optimizer, DefaultValuedAttr<StrArrayAttr, "{}">:$flat,
                       OptionalAttr<FlatSymbolRefAttr>:$copy, Variadic<Spmd_Local>:$guard);
  let assemblyFormat = [{
    $bucket `,` $direction `,` $scale (`squares` $squares^ `:` type($squares))? (`flat` $flat^)? (`copy` $copy^)? (`guard` `(` $guard^ `:` type($guard) `)`)? `optimizer` `(` $optimizer `)` attr-dict `:` type($direction) `,` type($scale)
  }];
}
def Spmd_AverageBucketOp : Spmd_ShardUser<"average_bucket"> {
  let summary = "adds a shard of updated parameters to their average over the steps";
  let description = [{
    The slot bucket `average` holds the parameters after the first step, then decay * average + (1 - decay) * parameter.

    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, FlatSymbolRefAttr:$average, F64Attr:$decay,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$flat);
  let assemblyFormat = "$bucket `into` $average `decay` $decay (`flat` $flat^)? attr-dict";
}
def Spmd_ExchangeAverageOp : Spmd_ShardUser<"exchange_average"> {
  let summary = "exchanges a shard of parameters with their average";
  let description = [{
    Run twice, the op changes nothing. `copy` is that of `update_bucket`.

    Made by spmd-lower-to-program, around an evaluation. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, FlatSymbolRefAttr:$average,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$flat, OptionalAttr<FlatSymbolRefAttr>:$copy);
  let assemblyFormat = "$bucket `with` $average (`flat` $flat^)? (`copy` $copy^)? attr-dict";
}
def Spmd_GatherBucketOp : Spmd_BucketExchange<"gather_bucket"> {
  let summary = "gathers the shards of all members in place";
  let description = [{
    Made by spmd-lower-to-program, in the update phase. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_AxisNames:$axes);
  let assemblyFormat = "$bucket `over` $axes attr-dict";
}
def Spmd_ReportOp : Spmd_Op<"report", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "what the host reads after the step or the evaluation, whole and equal on all ranks";
  let description = [{
    `prediction` is that of an evaluation (passes/graph/Evaluation.h): hits as a scalar, or logits as a vector.

    Made by spmd-lower-to-program, in the phases update and score. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_FloatScalar:$loss_sum, Spmd_FloatScalar:$count, Optional<Spmd_FloatScalar>:$grad_norm,
                       Optional<RankedTensorOf<[F32]>>:$prediction);
  let assemblyFormat = [{
    `loss_sum` $loss_sum `,` `count` $count (`,` `grad_norm` $grad_norm^)? (`,` `prediction` $prediction^)? attr-dict `:`
    type($loss_sum) `,` type($count) (`,` type($grad_norm)^)? (`,` type($prediction)^)?
  }];
}

#endif // DTCC_DIALECTS_SPMD_UPDATEOPS
