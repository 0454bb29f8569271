//===- UnitOps.td - Shards of buckets: reduce, gather, release
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops that move the shards of ZeRO. A unit is a group of states that are gathered and
// reduced together. It has one bucket for each layout of its states.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_UNITOPS
#define DTCC_DIALECTS_SPMD_UNITOPS

include "dialects/spmd/ProgramOps.td"

defvar Spmd_OptionalAxes = DefaultValuedAttr<StrArrayAttr, "{}">;

def Spmd_ReduceBucketOp : Spmd_BucketExchange<"reduce_bucket"> {
  let summary = "sums a bucket of gradients over ranks, in place or into a bucket of shards";
  let description = [{
    The op first reduces over `scatter`: each member keeps its contiguous shard, and the other
    cells of states are undefined afterwards. It then reduces over `sum`: every member holds
    the sum of that shard, or of the whole bucket without `scatter`. In place, the shard stays
    at its offset in the bucket. With `into` the bucket is transient and its content is lost;
    the shard is added to the other bucket: slot 0 overwrites, later slots add. With `again`
    slot 0 adds too, to the sum of another phase. With `slot` the op runs in this slot alone,
    when the gradients of all micro-batches are in the bucket.
    ```
    spmd.reduce_bucket @grads.0 scatter ["dp"] sum ["tp"]      // ZeRO-1, once a step
    spmd.reduce_bucket @grads.0 scatter ["dp"] slot 3          // the same in a phase that repeats, in the last of four
    spmd.reduce_bucket @work.3 scatter ["dp"] into @grads.3    // ZeRO-2 and 3, every micro-batch
    ```

    Made by spmd-lower-to-program; spmd-place-units moves the op to where its bucket is complete. Consumed by
    exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_OptionalAxes:$scatter, Spmd_OptionalAxes:$sum,
                       OptionalAttr<FlatSymbolRefAttr>:$into, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$slot, UnitAttr:$again);
  let assemblyFormat =
      "$bucket (`scatter` $scatter^)? (`sum` $sum^)? (`into` $into^)? (`again` $again^)? (`slot` $slot^)? attr-dict";
}
def Spmd_GatherUnitOp : Spmd_BucketExchange<"gather_unit"> {
  let summary = "the whole content of a parameter bucket of which ranks store shards";
  let description = [{
    The result is a temporary copy in the type of the bucket or in a narrower one. In a narrower
    type, shards are rounded (to nearest even) before they are sent. The op has memory effects
    so that CSE does not merge two gathers of one bucket: the copy must not exist between them.
    `%u = spmd.gather_unit @params.3 over ["dp"] : tensor<7087872xf32>`

    Made by spmd-lower-to-program, before each use; spmd-place-units merges and moves these ops. Consumed by
    exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_AxisNames:$axes);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$bucket `over` $axes attr-dict `:` type($y)";
}
def Spmd_UnitViewOp : Spmd_Op<"unit_view", [Pure]> {
  let summary = "a range of a gathered unit as a tensor: no copy";
  let description = [{
    `%w = spmd.unit_view %u[1024] : tensor<7087872xf32> -> tensor<768x3072xf32>`

    Made by spmd-lower-to-program and spmd-place-units. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$unit, I64Attr:$offset);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$unit `[` $offset `]` attr-dict `:` type($unit) `->` type($y)";
  let hasVerifier = 1;
}
def Spmd_ReleaseOp : Spmd_Op<"release", [MemoryEffects<[MemWrite]>]> {
  let summary = "ends the life of a gathered unit, so that its memory is free";
  let description = [{
    Made by spmd-place-units. Consumed by exec-bufferize, which ends the live range of the buffer. None is left
    after exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$unit);
  let assemblyFormat = "$unit attr-dict `:` type($unit)";
}

#endif // DTCC_DIALECTS_SPMD_UNITOPS
