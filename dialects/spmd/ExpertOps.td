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

class Spmd_RowsOp<string mnemonic> : Spmd_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins AnyTypeOf<[Spmd_Local, Spmd_TensorType]>:$x, AnyTypeOf<[Spmd_Local, Spmd_TensorType]>:$ids,
                       Spmd_AxisNames:$axes, ConfinedAttr<I64Attr, [IntPositive]>:$experts);
  let results = (outs AnyTypeOf<[Spmd_Local, Spmd_TensorType]>:$y);
  let assemblyFormat = "$x `,` $ids `over` $axes `experts` $experts attr-dict `:` functional-type(operands, results)";
}

def Spmd_DispatchRowsOp : Spmd_RowsOp<"dispatch_rows"> {
  let summary = "the rows of the group's tokens that picked an expert of this member, and zeros";
  let description = [{
    x [n.., c] holds this member's tokens; ids [n * members.., k] holds the selected experts of all tokens. y
    [n * members.., c] is an all_gather of x along dimension 0, except that rows which selected none of this member's
    `experts` are zero and are not sent. Experts are numbered over the group, and each member holds a run of them.

    `spmd.dispatch_rows %x, %ids over ["ep"] experts 2 : (tensor<4x8x16xf32>, tensor<16x8x2xi64>) -> tensor<16x8x16xf32>`

    Made by spmd-dispatch-experts. Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
}
def Spmd_CombineRowsOp : Spmd_RowsOp<"combine_rows"> {
  let summary = "this member's rows: the sum of what the members made of them that they were dispatched to";
  let description = [{
    x [n * members.., d] is partial; ids are those of dispatch_rows. y [n.., d] is a reduce_scatter of x along dimension
    0, in which rows that dispatch_rows does not send count as zero.

    Made by spmd-dispatch-experts. Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
}

#endif // DTCC_DIALECTS_SPMD_EXPERTOPS
