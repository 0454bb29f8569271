//===- ExpertOps.td - Tokens to the ranks of the experts that they picked
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
                       Spmd_AxisNames:$axes, ConfinedAttr<I64Attr, [IntPositive]>:$experts);
  let results = (outs AnyTypeOf<[Spmd_Local, Spmd_TensorType]>:$y);
  let assemblyFormat = "$x `,` $ids `over` $axes `experts` $experts attr-dict `:` functional-type(operands, results)";
}

def Spmd_DispatchRowsOp : Spmd_RowsOp<"dispatch_rows", "DispatchRows"> {
  let summary = "the rows of the group's tokens that picked an expert of this member, and zeros";
  let description = [{
    x [n.., c] of this member's tokens; ids [n * members.., k], the picks of all; y [n * members.., c]: as all_gather
    along dimension 0, but a row none of whose picks is one of this member's `experts` is zero, and is not sent.
    Experts are numbered over the group, each member holds a run of them.

    `spmd.dispatch_rows %x, %ids over ["ep"] experts 2 : (tensor<4x8x16xf32>, tensor<16x8x2xi64>) -> tensor<16x8x16xf32>`
  }];
}
def Spmd_CombineRowsOp : Spmd_RowsOp<"combine_rows", "CombineRows"> {
  let summary = "this member's rows: the sum of what the members made of them that they were dispatched to";
  let description = [{
    x [n * members.., d], partial; ids as above; y [n.., d]: as reduce_scatter along dimension 0 of rows that are zero
    where dispatch_rows makes them so.
  }];
}

#endif // DTCC_DIALECTS_SPMD_EXPERTOPS
