//===- ExpertOps.td - Tokens to the ranks of their experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exchanges of rows around an expert layer. They replace all_gather and reduce_scatter, and send a row only to
// ranks that need it. Operands are !spmd.tensor until the program of a rank is made, and local tensors in it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_EXPERTOPS
#define DTCC_DIALECTS_SPMD_EXPERTOPS

include "dialects/spmd/Spmd.td"

class Spmd_RowsOp<string mnemonic, string kind> : Spmd_Op<mnemonic, [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>, DeclareOpInterfaceMethods<CommunicationOpInterface>]> {
  let extraClassDefinition = [{
    ::llvm::SmallVector<::dtcc::Communication, 1> $cppClass::getCommunications() {
      ::dtcc::Communication exchange = tensorCollective(*this, ::dtcc::CollectiveKind::}] # kind # [{);
      auto ids = ::llvm::cast<::mlir::ShapedType>(getIds().getType());
      exchange.picks = ids.getRank() ? ids.getShape().back() : 0;
      return {exchange};
    }
    ::mlir::LogicalResult $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &) { return verifyRows(*this); }
  }];
  let arguments = (ins AnyTypeOf<[Spmd_Local, Spmd_TensorType]>:$x, AnyTypeOf<[Spmd_Local, Spmd_TensorType]>:$ids,
                       Spmd_AxisNames:$axes, ConfinedAttr<I64Attr, [IntPositive]>:$experts,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$room);
  let results = (outs AnyTypeOf<[Spmd_Local, Spmd_TensorType]>:$y);
  let assemblyFormat = [{
    $x `,` $ids `over` $axes `experts` $experts (`room` $room^)? attr-dict `:` functional-type(operands, results)
  }];
}

def Spmd_DispatchRowsOp : Spmd_RowsOp<"dispatch_rows", "DispatchRows"> {
  let summary = "all rows of the group's tokens, with zeros for tokens that selected no expert of this member";
  let description = [{
    x [n.., c] holds this member's tokens; ids [n * members.., k] holds the selected experts of all tokens. y
    [n * members.., c] is an all_gather of x along dimension 0, except that rows which selected none of this member's
    `experts` are zero and are not sent. Experts are numbered over the group, and each member holds a run of them.

    `spmd.dispatch_rows %x, %ids over ["ep"] experts 2 : (tensor<4x8x16xf32>, tensor<16x8x2xi64>) -> tensor<16x8x16xf32>`

    With `room` (--moe-capacity) y on local tensors is [room, c]: the rows that pack_picks keeps, a row for each pick,
    and zeros behind them.

    `spmd.dispatch_rows %x, %ids over ["ep"] experts 2 room 80 : (tensor<4x8x16xf32>, tensor<16x8x2xi64>) -> tensor<80x16xf32>`

    Made by spmd-dispatch-experts. Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
}
def Spmd_CombineRowsOp : Spmd_RowsOp<"combine_rows", "CombineRows"> {
  let summary = "the sum of the results of this member's rows over the members to which they were dispatched";
  let description = [{
    x [n * members.., d] is partial; ids are those of dispatch_rows. y [n.., d] is a reduce_scatter of x along dimension
    0, in which rows that dispatch_rows does not send count as zero. With `room`, x on local tensors is [room, d], a row
    for each pick that pack_picks keeps. The rows of a token are summed within each member first.

    Made by spmd-dispatch-experts. Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
}

def Spmd_PackPicksOp : Spmd_Op<"pack_picks", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the picks of this member's experts side by side, as many as there is room for";
  let description = [{
    ids [n * members.., k] are those of dispatch_rows. The picks that name one of this member's `experts` are kept in
    their order, up to the size of the results; later ones overflow, and their rows are dropped. picked [room, 1] holds
    the ids of the kept picks, then -1. places [room] holds their numbers among all cells of ids, then -1. All members
    know all ids, so each of them knows which rows another one drops. The op that `counts` adds the number of dropped
    rows to the step's.

    `%picked, %places = spmd.pack_picks %ids over ["ep"] experts 2 counts : tensor<16x8x2xi64> -> tensor<80x1xi64>, tensor<80xi64>`

    Made by spmd-lower-to-program. Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$ids, Spmd_AxisNames:$axes, ConfinedAttr<I64Attr, [IntPositive]>:$experts,
                       UnitAttr:$counts);
  let results = (outs Spmd_Local:$picked, Spmd_Local:$places);
  let assemblyFormat = [{
    $ids `over` $axes `experts` $experts (`counts` $counts^)? attr-dict `:` type($ids) `->` type($picked) `,` type($places)
  }];
}

#endif // DTCC_DIALECTS_SPMD_EXPERTOPS
