//===- UnitOps.td - Shares of buckets: reduce, gather, release
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ZeRO does with storage. A unit is a group of states that are gathered and
// reduced together: one bucket for each layout in it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_UNITOPS
#define DTCC_DIALECTS_SPMD_UNITOPS

include "dialects/spmd/ProgramOps.td"

defvar Spmd_OptionalAxes = DefaultValuedAttr<StrArrayAttr, "{}">;

def Spmd_ReduceBucketOp : Spmd_BucketExchange<"reduce_bucket"> {
  let summary = "sums a bucket of gradients over ranks, in place or into a bucket of shares";
  let description = [{
    First over `scatter`: each member keeps its contiguous share, the other cells of
    states are undefined afterwards; then over `sum`: every member has the sum of that share (of
    all that is stored, without `scatter`). In place the share stays where it lies in
    the bucket. With `into` the bucket is transient, its whole content is given up, and
    the share is added to what the other bucket stores: slot 0 overwrites, later slots
    add; `again`: slot 0 adds too, to what another phase has put there. `slot`: in this
    slot alone, when all micro-batches are in the bucket.
    ```
    spmd.reduce_bucket @grads.0 scatter ["dp"] sum ["tp"]      // ZeRO-1, once a step
    spmd.reduce_bucket @grads.0 scatter ["dp"] slot 3          // the same in a phase that repeats, in the last of four
    spmd.reduce_bucket @work.3 scatter ["dp"] into @grads.3    // ZeRO-2 and 3, every micro-batch
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_OptionalAxes:$scatter, Spmd_OptionalAxes:$sum,
                       OptionalAttr<FlatSymbolRefAttr>:$into, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$slot, UnitAttr:$again);
  let assemblyFormat =
      "$bucket (`scatter` $scatter^)? (`sum` $sum^)? (`into` $into^)? (`again` $again^)? (`slot` $slot^)? attr-dict";
}
def Spmd_GatherUnitOp : Spmd_BucketExchange<"gather_unit"> {
  let summary = "the whole of a parameter bucket of which ranks store shares";
  let description = [{
    A temporary copy, in the type of the bucket or in a narrower one: shares are then rounded
    (to nearest even) before they travel. It lives until its last use. Never merged with another gather of
    the same bucket, hence its effects: in between the copy is not to exist.
    `%u = spmd.gather_unit @params.3 over ["dp"] : tensor<7087872xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, Spmd_AxisNames:$axes);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$bucket `over` $axes attr-dict `:` type($y)";
}
def Spmd_UnitViewOp : Spmd_Op<"unit_view", [Pure]> {
  let summary = "a range of a gathered unit as a tensor: no copy";
  let description = [{ `%w = spmd.unit_view %u[1024] : tensor<7087872xf32> -> tensor<768x3072xf32>` }];
  let arguments = (ins Spmd_Local:$unit, I64Attr:$offset);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$unit `[` $offset `]` attr-dict `:` type($unit) `->` type($y)";
  let hasVerifier = 1;
}
def Spmd_ReleaseOp : Spmd_Op<"release", [MemoryEffects<[MemWrite]>]> {
  let summary = "says that a gathered unit is not read any more: its memory is free";
  let arguments = (ins Spmd_Local:$unit);
  let assemblyFormat = "$unit attr-dict `:` type($unit)";
}

#endif // DTCC_DIALECTS_SPMD_UNITOPS
