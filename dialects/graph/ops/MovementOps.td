//===- MovementOps.td - Constants, shapes and rearrangement
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_DIALECTS_GRAPH_MOVEMENTOPS
#define DTCC_DIALECTS_GRAPH_MOVEMENTOPS

include "dialects/graph/ElementwiseInterface.td"
include "dialects/graph/GraphAttrs.td"

defvar Graph_Cells = DeclareOpInterfaceMethods<CellOpInterface, ["evaluateCell"]>;

def Graph_ConstantOp : Graph_PureOp<"constant", [ConstantLike, Graph_Cells]> {
  let summary = "a tensor known at compile time";
  let description = [{
    Made by the importer, and by passes that need constants. Consumed by exec-fuse, which copies splats into kernels,
    and by exec-bufferize, which emits a fill or a kernel for other constants. None is left after
    exec-generate-kernels or exec-generate-gpu-kernels.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "attr-dict $value `:` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_IotaOp : Graph_PureOp<"iota", [Graph_Cells]> {
  let summary = "counts along dimension dim: y[.., i, ..] = start + i * step";
  let description = [{
    The factor of `dim` is an index factor. On a shard `offset_axes` names the axes that split it.

    Made by the importer and graph-differentiate. Consumed by exec-fuse, which moves the op into an `exec.fused`.
    None is left after exec-generate-kernels or exec-generate-gpu-kernels.
  }];
  let arguments = (ins I64Attr:$dim, DefaultValuedAttr<I64Attr, "0">:$start, DefaultValuedAttr<I64Attr, "1">:$step,
                       OptionalAttr<ArrayAttr>:$offset_axes);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "attr-dict `:` type($y)";
  let hasVerifier = 1;
}
def Graph_ReshapeOp : Graph_DiffOp<"reshape", [Graph_Cells]> {
  let summary = "the same cells in row-major order under another shape";
  let description = [{
    Imported models hold any reshape. Those that graph-factor-dimensions leaves either only
    add or drop dimensions of size 1, or mix factors and need the mixed dimensions whole.

    Made by the importer; graph-factor-dimensions leaves only those that mix factors. Consumed by exec-bufferize,
    which makes a view or a copy. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_TransposeOp : Graph_DiffOp<"transpose", [Graph_Cells]> {
  let summary = "dimension i of the result is dimension permutation[i] of x";
  let description = [{
    Made by the importer, graph-factor-dimensions and graph-differentiate. Consumed by graph-canonicalize, which
    folds the op into products, and exec-bufferize, which makes a view. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $permutation attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Graph_BarrierOp : Graph_PureOp<"barrier"> {
  let summary = "the same tensor, as a value that no rewriting identifies with x";
  let description = [{
    Recomputation starts from barriers on the saved activations. Without barriers CSE would
    merge the recomputed ops with the forward ops, and everything would be kept after all.
    XLA's optimization-barrier serves the same purpose. Barriers of one segment on one value
    are merged, and the result shares the storage of x. The op is not declared linear,
    because a saved activation is no partial sum.

    Made by graph-recompute. Consumed by exec-bufferize, which gives the result the memory of x. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$segment);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def Graph_BroadcastOp : Graph_DiffOp<"broadcast", [Graph_Cells]> {
  let summary = "repeats x: dimension i of x is dimension dims[i] of the result; the other dimensions are new";
  let description = [{
    `dims` is strictly increasing; sizes of mapped dimensions are equal.

    Made by the importer, graph-differentiate and exec-expand-composites. Consumed by exec-fuse, which moves the op
    into an `exec.fused`. None is left after exec-generate-kernels or exec-generate-gpu-kernels.
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_SliceOp : Graph_DiffOp<"slice", [Graph_Cells]> {
  let summary = "cells offsets[i] + k * strides[i] of dimension i, for each k below the result's size";
  let description = [{
    Made by the importer, graph-differentiate, exec-chunk-classifier and exec-expand-composites. Consumed by
    exec-bufferize, which makes a view. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $offsets $strides attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_PadOp : Graph_DiffOp<"pad", [Graph_Cells]> {
  let summary = "puts `low[i]` cells before and `high[i]` after dimension i, of value `value`";
  let description = [{
    Made by the importer and graph-differentiate. Consumed by exec-bufferize, which makes a fill and a copy. None is
    left after exec-bufferize.
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, F64Attr:$value);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $low $high $value attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ShiftOp : Graph_PureOp<"shift", [SameOperandsAndResultType, Graph_Cells]> {
  let summary = "y[.., i, ..] = x[.., i + amount, ..], or `fill` outside";
  let description = [{
    Shifts the labels of a causal loss. Unlike a pad and a slice, one op keeps the factor of the dimension.

    Made by the importer. Consumed by exec-bufferize, which makes a fill and a copy. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_IntTensor:$x, I64Attr:$dim, I64Attr:$amount, I64Attr:$fill);
  let results = (outs Graph_IntTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Graph_ConcatOp : Graph_DiffOp<"concat", [Graph_Cells]> {
  let summary = "joins along an existing dimension";
  let description = [{
    Made by the importer, exec-chunk-classifier and exec-expand-composites. Consumed by exec-bufferize, which lets
    the producers write parts of one buffer. None is left after exec-bufferize.
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$xs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$xs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_StackOp : Graph_DiffOp<"stack", [Graph_Cells]> {
  let summary = "joins along a new dimension dim of the result, of size the number of operands";
  let description = [{
    Made by graph-factor-dimensions, graph-differentiate and exec-expand-composites. Consumed by exec-bufferize,
    which lets the producers write parts of one buffer. None is left after exec-bufferize.
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$xs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$xs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_UnstackOp : Graph_DiffOp<"unstack", [Graph_Cells]> {
  let summary = "the parts along dimension dim, one result each; its gradient is stack";
  let description = [{
    Made by graph-factor-dimensions, graph-differentiate and exec-expand-composites. Consumed by exec-bufferize,
    which makes views. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim);
  let results = (outs Variadic<Graph_Tensor>:$ys);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_GatherOp : Graph_DiffOp<"gather", [Graph_Cells]> {
  let summary = "y[a.., i.., c..] = x[a.., indices[i..], c..] along `axis`";
  let description = [{
    The general form, for imported models; rows of a parameter become `graph.embedding`. Indices count from 0.

    Made by the importer and graph-factor-dimensions. Consumed by exec-expand-composites, which makes
    `graph.embedding`; rows of integers by exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $indices attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_MOVEMENTOPS
