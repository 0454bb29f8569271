//===- CollectiveOps.td - What ranks exchange
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On local tensors, inside an spmd.program. `axes` names mesh axes, outermost first:
// the ranks that differ only in them form a group, and the linear index of their
// coordinates orders its members. Time axes may stand in local_slice and zero_fill
// alone: they communicate nothing. What the others exchange they say by
// CommunicationOpInterface, with a row of runtime/abi/Collectives.def.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_COLLECTIVEOPS
#define DTCC_DIALECTS_SPMD_COLLECTIVEOPS

include "dialects/spmd/Spmd.td"

/// A collective of Collectives.def on one tensor. `details` fills in what the op says of `exchange` besides its axes.
class Spmd_CollectiveOp<string mnemonic, string kind, code details, list<Trait> traits = []>
    : Spmd_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                     DeclareOpInterfaceMethods<CommunicationOpInterface>], traits)> {
  let extraClassDefinition = [{
    ::llvm::SmallVector<::dtcc::Communication, 1> $cppClass::getCommunications() {
      ::dtcc::Communication exchange = tensorCollective(*this, ::dtcc::CollectiveKind::}] # kind # [{);
      }] # details # [{
      return {exchange};
    }
    ::mlir::LogicalResult $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &) { return verifyCollective(*this); }
  }];
}

def Spmd_AllReduceOp : Spmd_CollectiveOp<"all_reduce", "AllReduce", [{
    exchange.reduction = getKind();
    exchange.members = getMembers().value_or(exchange.members);
  }], [Pure, SameOperandsAndResultType]> {
  let summary = "the sum (maximum, minimum) over the group, on every member";
  let description = [{
    With `members`, only these coordinates of the one axis take part: the stages of a
    pipeline that own a parameter together.
    `spmd.all_reduce sum %g over ["pp"] members [0, 3] : tensor<1024xf32>`

    Made by spmd-lower-to-program, for reshards, statistics of shards and the norm of gradients. Consumed by
    exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins Spmd_ReductionAttr:$kind, Spmd_Local:$x, Spmd_AxisNames:$axes,
                       OptionalAttr<DenseI64ArrayAttr>:$members);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$kind $x `over` $axes (`members` $members^)? attr-dict `:` type($x)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::dtcc::Reduction":$kind, "::mlir::Value":$x,
                                 "::mlir::ArrayAttr":$axes), [{
    build($_builder, $_state, type, kind, x, axes, ::mlir::DenseI64ArrayAttr());
  }]>];
}
def Spmd_AllGatherOp : Spmd_CollectiveOp<"all_gather", "AllGather", [{ exchange.joins = getDim(); }], [Pure]> {
  let summary = "the shards of all members, concatenated along dimension dim";
  let description = [{
    Made by spmd-lower-to-program for an `spmd.reshard`. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$x, I64Attr:$dim, Spmd_AxisNames:$axes);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$x `dim` $dim `over` $axes attr-dict `:` type($x) `->` type($y)";
}
def Spmd_ReduceScatterOp : Spmd_CollectiveOp<"reduce_scatter", "ReduceScatter", [{
    exchange.reduction = getKind();
    exchange.splits = getDim();
  }], [Pure]> {
  let summary = "this member's shard along dimension dim of the sum (maximum, minimum)";
  let description = [{
    Made by spmd-lower-to-program for an `spmd.reshard`. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_ReductionAttr:$kind, Spmd_Local:$x, I64Attr:$dim, Spmd_AxisNames:$axes);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$kind $x `dim` $dim `over` $axes attr-dict `:` type($x) `->` type($y)";
}
def Spmd_AllToAllOp : Spmd_CollectiveOp<"all_to_all", "AllToAll", [{
    exchange.joins = getFrom();
    exchange.splits = getTo();
  }], [Pure]> {
  let summary = "moves the axes from one dimension to another";
  let description = [{
    Member i sends slice j along dimension `to` to member j, and concatenates what it receives
    along dimension `from`. `from` grows by the size of the group, and `to` shrinks by it.

    Made by spmd-lower-to-program for an `spmd.reshard`. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$x, I64Attr:$from, I64Attr:$to, Spmd_AxisNames:$axes);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$x `from` $from `to` $to `over` $axes attr-dict `:` type($x) `->` type($y)";
}
class Spmd_AxesOp<string mnemonic, list<Trait> traits = []> : Spmd_Op<mnemonic, !listconcat([
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

def Spmd_LocalSliceOp : Spmd_AxesOp<"local_slice"> {
  let summary = "this member's shard along dimension dim; no communication";
  let description = [{
    Made by spmd-lower-to-program for an `spmd.reshard`. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$x, I64Attr:$dim, Spmd_AxisNames:$axes);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$x `dim` $dim `over` $axes attr-dict `:` type($x) `->` type($y)";
}
def Spmd_ZeroFillOp : Spmd_AxesOp<"zero_fill", [SameOperandsAndResultType]> {
  let summary = "x on member 0, zeros on the others: a replicated value as a partial sum; no communication";
  let description = [{
    Made by spmd-lower-to-program for an `spmd.reshard`. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$x, Spmd_AxisNames:$axes);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$x `over` $axes attr-dict `:` type($x)";
}

def Spmd_ShiftOp : Spmd_CollectiveOp<"shift", "Shift", "", [MemoryEffects<[MemRead, MemWrite]>, SameOperandsAndResultType]> {
  let summary = "the value of the previous member in the ring of the group";
  let description = [{
    Member i sends its value to member i + 1, and the last to the first. Ring attention passes
    blocks of keys and values in this way. CSE must not merge two shifts, because the backward
    pass fetches the blocks again that the forward pass did not keep. `%y = spmd.shift %x over ["cp"] : tensor<2x64xf32>`

    Made by spmd-lower-to-program, for ring attention. Consumed by exec-bufferize. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$x, Spmd_AxisNames:$axes);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$x `over` $axes attr-dict `:` type($x)";
}

class Spmd_MessageOp<string mnemonic> : Spmd_Op<mnemonic, [
    MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<CommunicationOpInterface>]>;

def Spmd_SendOp : Spmd_MessageOp<"send"> {
  let summary = "sends a value to a rank of another stage";
  let description = [{
    The receiver is the rank whose coordinate in `axis` is `peer` and whose other coordinates
    are those of this rank. The op does not wait for the receiver, except while `room` of its
    messages are in flight. Messages of one `channel` between two ranks arrive in the order in
    which they were sent; other channels do not wait for them.
    `spmd.send %x to 1 over "pp" channel 0 : tensor<4x64xf32>`

    Made by spmd-lower-to-program; spmd-merge-channels and spmd-reserve-messages set the channel and the room.
    Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$x, I64Attr:$peer, StrAttr:$axis, I64Attr:$channel,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$room);
  let assemblyFormat = "$x `to` $peer `over` $axis `channel` $channel (`room` $room^)? attr-dict `:` type($x)";
}
def Spmd_ReceiveOp : Spmd_MessageOp<"receive"> {
  let summary = "waits for the next value of a channel from another stage";
  let description = [{
    `%x = spmd.receive from 0 over "pp" channel 0 : tensor<4x64xf32>`

    Made by spmd-lower-to-program; spmd-merge-channels sets the channel. Consumed by exec-bufferize. None is left
    after exec-bufferize.
  }];
  let arguments = (ins I64Attr:$peer, StrAttr:$axis, I64Attr:$channel);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "`from` $peer `over` $axis `channel` $channel attr-dict `:` type($y)";
}

#endif // DTCC_DIALECTS_SPMD_COLLECTIVEOPS
