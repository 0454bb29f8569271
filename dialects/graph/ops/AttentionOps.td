//===- AttentionOps.td - Attention and rotary embedding
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_DIALECTS_GRAPH_ATTENTIONOPS
#define DTCC_DIALECTS_GRAPH_ATTENTIONOPS

include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"

def Graph_AttentionOp : Graph_DiffOp<"attention", [AttrSizedOperandSegments, Graph_Precision<["getResultPrecision"]>,
                                                  DeclareOpInterfaceMethods<SequenceOpInterface, ["attends"]>]> {
  let summary = "out = softmax(softcap(scale * q k^T) + bias, masked) v";
  let description = [{
    q [b, t, h, d] or, with grouped heads, [b, t, h, g, d] where h counts key/value
    heads and g the query heads of each; k [b, s, h, d]; v [b, s, h, e];
    out [b, t, h, (g,) e]; lse [b, h, (g,) t]: natural log of the sum of exponentials
    (+inf in an empty row). `mask` is a predicate (see #graph.mask); its operands
    follow in `mask_operands`: key [b, s] first, then the segments [b, t], [b, s].
    `bias` [h, (g,) t, s], if present, is added to the scaled scores and has a
    gradient only through decomposition. `softcap` c > 0: c * tanh(x / c). Factors: b,
    h, g parallel; t index (causality); s decompose; d reduce inside (replicate);
    e parallel.

    Made by graph-recover-composites. Consumed by spmd-lower-to-program, which makes `graph.attention_part` if
    positions are sharded, and by exec-bufferize, which calls the runtime's library. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v,
                       Optional<Graph_FloatTensor>:$bias, Variadic<Graph_Tensor>:$mask_operands,
                       Graph_MaskAttr:$mask, F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap,
                       DefaultValuedAttr<Graph_EmptyRowAttr, "::dtcc::graph::EmptyRow::uniform">:$empty_row);
  let results = (outs Graph_FloatTensor:$out, Graph_FloatTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`bias` $bias^)? (`mask` `(` $mask_operands^ `)`)? $mask attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def Graph_AttentionGradOp : Graph_PureOp<"attention_grad", [DeclareOpInterfaceMethods<SequenceOpInterface, ["attends"]>]> {
  let summary = "gradients of attention to q, k and v; linear in dout";
  let description = [{
    Made by graph-differentiate. Consumed by spmd-lower-to-program, which makes `graph.attention_part_grad` if positions
    are sharded, and by exec-bufferize, which calls the runtime's library. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v,
                       Variadic<Graph_Tensor>:$mask_operands, Graph_FloatTensor:$out, Graph_FloatTensor:$lse,
                       Graph_FloatTensor:$dout, Graph_MaskAttr:$mask, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$softcap,
                       DefaultValuedAttr<Graph_EmptyRowAttr, "::dtcc::graph::EmptyRow::uniform">:$empty_row);
  let results = (outs Graph_FloatTensor:$dq, Graph_FloatTensor:$dk, Graph_FloatTensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` `(` $mask_operands^ `)`)? `out` $out `,` $lse `,` $dout $mask attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def Graph_RotaryOp : Graph_DiffOp<"rotary", [Graph_Precision<["getOperandPrecision"]>]> {
  let summary = "rotates pairs: y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin";
  let description = [{
    The two halves of a pair stand along dimension `pair` (size 2) of x; cos and sin
    have the dimensions `table_dims` of x. Linear in x. `inverse` rotates back: the gradient.

    Made by the importer, graph-recover-composites and graph-differentiate. Consumed by exec-expand-composites,
    which rewrites the op to elementwise ops and reductions. None is left after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$cos, Graph_FloatTensor:$sin, I64Attr:$pair,
                       DenseI64ArrayAttr:$table_dims, UnitAttr:$inverse);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$x `,` $cos `,` $sin $table_dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_ATTENTIONOPS
