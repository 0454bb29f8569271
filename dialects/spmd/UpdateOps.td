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
