//===- ContractionOps.td - Products, reductions and table rows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_DIALECTS_GRAPH_CONTRACTIONOPS
#define DTCC_DIALECTS_GRAPH_CONTRACTIONOPS

include "dialects/graph/ElementwiseInterface.td"
include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"

def Graph_ContractOp : Graph_DiffOp<"contract", [Graph_Precision<["canWidenResult"]>]> {
  let summary = "product of two tensors, summed over the letters that the result lacks";
  let description = [{
    `spec` names every dimension by a letter, as einsum: "btc,chd->bthd". A letter
    stands at most once in a term, every letter of the result stands in an operand, and
    a letter of one operand alone stands in the result. Linear in each operand.
    Products accumulate in f32 or wider; the result may be wider than the operands, which
    have one type.

    Made by the importer and graph-differentiate. Consumed by exec-fold-epilogues, which makes `exec.product`, and
    exec-bufferize, which makes matrix products. None is left after exec-bufferize.
  }];
  let arguments = (ins StrAttr:$spec, Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$spec $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ReduceOp : Graph_DiffOp<"reduce", [DeclareOpInterfaceMethods<CellOpInterface, ["evaluateCell"]>,
    Graph_Precision<["getOperandPrecision", "getResultPrecision", "canWidenResult"]>]> {
  let summary = "sum, maximum or minimum over `dims` (increasing), which vanish; a sum of floats may be wider than x";
  let arguments = (ins Graph_ReductionAttr:$kind, Graph_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind $x $dims attr-dict `:` functional-type(operands, results)";
  let description = [{
    Made by the importer, graph-differentiate and exec-expand-composites. Consumed by exec-fuse, which moves the op
    into an `exec.fused`; sums of integers by exec-expand-composites. None is left after exec-generate-kernels or
    exec-generate-gpu-kernels.
  }];
  let hasVerifier = 1;
}
def Graph_SoftmaxOp : Graph_DiffOp<"softmax", [SameOperandsAndResultType, Graph_OwnPrecision]> {
  let summary = "exp(x - max) / sum over `dims` together; `log` takes the logarithm";
  let description = [{
    Made by the importer. Consumed by exec-expand-composites, which rewrites the op to elementwise ops and
    reductions. None is left after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$x, DenseI64ArrayAttr:$dims, UnitAttr:$log);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$x $dims attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Graph_CumsumOp : Graph_PureOp<"cumsum", [SameOperandsAndResultType,
                                       DeclareOpInterfaceMethods<CellOpInterface, ["evaluateCell"]>]> {
  let summary = "running sum along `dim`, inclusive; integers and floats, no gradient";
  let description = [{
    Made by no pass: models given as text may hold the op. Consumed by exec-expand-composites. None is left after
    exec-expand-composites.
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Graph_EmbeddingOp : Graph_DiffOp<"embedding", [PrecisionOpInterface]> {
  let summary = "rows of a table: y[i.., c..] = table[ids[i..], c..]";
  let description = [{
    The rows are an index factor whose result is partial: a shard gives 0 for ids of other
    shards, so the vocabulary may be split. On a shard `row_axes` names the axes that split
    the rows. If `padding_idx` is at least 0, that row receives no gradient.

    Made by the importer, graph-differentiate and exec-expand-composites. Consumed by exec-bufferize, which calls
    the runtime's library. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$table, Graph_IntTensor:$ids, DefaultValuedAttr<I64Attr, "-1">:$padding_idx,
                       OptionalAttr<ArrayAttr>:$row_axes);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$table `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ScatterAddOp : Graph_DiffOp<"scatter_add", [Graph_Precision<["getResultPrecision", "canWidenResult"]>]> {
  let summary = "adds rows up in a table that starts as zeros: table[ids[i..], c..] += rows[i.., c..]";
  let description = [{
    The op is the transpose of graph.embedding, and its gradient. It also sums the messages of edges at nodes
    (index_add, and ScatterND and ScatterElements that add). Rows are added in their order, so sums are the same in
    every run. The ids are a reduction factor, so edges may be split. The rows of the table are an index factor, so
    nodes may be split, and `row_axes` then names their axes. An id that names no row adds nothing, nor does
    `padding_idx` if it is at least 0. The table may be wider than the rows. The op is linear in the rows, and their
    gradient is an embedding.
    ```mlir
    %sums = graph.scatter_add %messages, %targets : (tensor<40x16xf32>, tensor<40xi64>) -> tensor<12x16xf32>
    ```

    Made by the importer and graph-differentiate. Consumed by exec-bufferize, which calls the runtime's library.
    None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_IntTensor:$ids, DefaultValuedAttr<I64Attr, "-1">:$padding_idx,
                       OptionalAttr<ArrayAttr>:$row_axes);
  let results = (outs Graph_FloatTensor:$table);
  let assemblyFormat = "$rows `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_CONTRACTIONOPS
