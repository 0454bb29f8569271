//===- PositionOps.td - Ops that know which positions a rank holds
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention over split positions, and the conversion between the order of a sequence and the
// order in which ranks hold it. The ops have a header of their own (PositionOps.h), because few
// passes see them. `chunks` says the order; see runtime/abi/SequenceOrder.h.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_POSITIONOPS
#define DTCC_DIALECTS_GRAPH_POSITIONOPS

include "dialects/graph/GraphAttrs.td"

class Graph_AttentionPart<string mnemonic, dag operands, dag outcome, string inner> :
    Graph_PureOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = !con(operands, (ins Variadic<Graph_FloatTensor>:$onto, Graph_MaskAttr:$mask, F64Attr:$scale,
      DefaultValuedAttr<F64Attr, "0.0">:$softcap,
      DefaultValuedAttr<Graph_EmptyRowAttr, "::dtcc::graph::EmptyRow::uniform">:$empty_row, I64Attr:$length, I64Attr:$query_length,
      DefaultValuedAttr<I64Attr, "0">:$shift, DefaultValuedAttr<I64Attr, "0">:$chunks,
      OptionalAttr<ArrayAttr>:$row_axes, OptionalAttr<ArrayAttr>:$key_axes));
  let results = outcome;
  let assemblyFormat = "$q `,` $k `,` $v (`mask` `(` $mask_operands^ `)`)? " # inner #
                       "(`onto` `(` $onto^ `)`)? $mask attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_AttentionPartOp : Graph_AttentionPart<"attention_part",
    (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v, Variadic<Graph_Tensor>:$mask_operands),
    (outs Graph_FloatTensor:$out, Graph_FloatTensor:$lse), ""> {
  let summary = "attention to a part of the keys, merged with that to others";
  let description = [{
    Computes graph.attention on local tensors, for keys that may be a part of the sequence.
    `onto` holds (out, lse) of the parts before, normalised and with their own log-sum-exp, and
    this part continues them (online softmax: Milakov and Gimelshein 2018; Liu et al. 2023,
    arXiv 2310.01889). Queries and their segments are those of this rank's shard over `row_axes`.
    Keys are those of shard (rank's - `shift`) over `key_axes`, or all keys without `key_axes`.
    Keys from `length` on and queries from `query_length` on are padding: they are not read, and
    their results are zero. out may be wider than q.
    ```
    %o, %l = graph.attention_part %q, %k1, %v1 onto(%o0, %l0) <causal = true> {scale = 0.5, length = 32, query_length = 32,
        shift = 1, chunks = 4, row_axes = ["cp"], key_axes = ["cp"]} : ...
    ```

    Made by spmd-lower-to-program. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
}
def Graph_AttentionPartGradOp : Graph_AttentionPart<"attention_part_grad",
    (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v, Variadic<Graph_Tensor>:$mask_operands,
         Graph_FloatTensor:$out, Graph_FloatTensor:$lse, Graph_FloatTensor:$dout),
    (outs Graph_FloatTensor:$dq, Graph_FloatTensor:$dk, Graph_FloatTensor:$dv), "`out` $out `,` $lse `,` $dout "> {
  let summary = "gradients of attention to a part of the keys, added to those of others";
  let description = [{
    out and lse are those of all keys. `onto` holds the sums dq, dk and dv so far; its dk and dv
    belong to these keys.

    Made by spmd-lower-to-program. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
}

def Graph_ReorderOp : Graph_PureOp<"reorder"> {
  let summary = "brings positions into the order in which ranks hold them, or back";
  let description = [{
    y[.., i, ..] = x[.., position of row i, ..] along `dim`; `inverse` applies the inverse order.
    0 chunks leave the order as it is. x must be whole and without padding. On a shard,
    `offset_axes` names the axes that split y. Rows that pad y have the value `fill`. `graph.reorder %x dim 1 chunks 4 : (tensor<8x32xi64>) -> tensor<8x32xi64>`

    Made by spmd-apply-plan. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim, I64Attr:$chunks, UnitAttr:$inverse,
                       DefaultValuedAttr<I64Attr, "0">:$fill, OptionalAttr<ArrayAttr>:$offset_axes);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `dim` $dim `chunks` $chunks attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_POSITIONOPS
