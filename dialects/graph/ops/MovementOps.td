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
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "attr-dict $value `:` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_IotaOp : Graph_PureOp<"iota", [Graph_Cells]> {
  let summary = "counts along dimension dim: y[.., i, ..] = start + i * step";
  let description = [{ The factor of `dim` is an index factor. On a shard `offset_axes` names its axes. }];
  let arguments = (ins I64Attr:$dim, DefaultValuedAttr<I64Attr, "0">:$start, DefaultValuedAttr<I64Attr, "1">:$step,
                       OptionalAttr<ArrayAttr>:$offset_axes);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "attr-dict `:` type($y)";
  let hasVerifier = 1;
}
def Graph_ReshapeOp : Graph_DiffOp<"reshape", [Graph_Cells]> {
  let summary = "the same cells in row-major order under another shape";
  let description = [{
    As imported. After factoring what is left either only adds or drops dimensions of
    size 1, or really mixes factors and wants the mixed dimensions whole.
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Graph_TransposeOp : Graph_DiffOp<"transpose", [Graph_Cells]> {
  let summary = "dimension i of the result is dimension permutation[i] of x";
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $permutation attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Graph_BarrierOp : Graph_PureOp<"barrier"> {
  let summary = "the same tensor, as a value that no rewriting identifies with x";
  let description = [{
    Recomputation starts from barriers on what was kept: without them common
    subexpressions would be merged again and everything would be kept after all (as
    XLA's optimization-barrier does for rematerialization). Barriers of one segment on one
    value are one; storage is shared with x. Not declared linear: a kept value is whole.
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$segment);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def Graph_BroadcastOp : Graph_DiffOp<"broadcast", [Graph_Cells]> {
  let summary = "repeats x: dimension i of x is dimension dims[i] of the result; the other dimensions are new";
  let description = [{ `dims` is strictly increasing; sizes of mapped dimensions are equal. }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_SliceOp : Graph_DiffOp<"slice", [Graph_Cells]> {
  let summary = "cells offsets[i] + k * strides[i] of dimension i, one a size of the result";
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $offsets $strides attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_PadOp : Graph_DiffOp<"pad", [Graph_Cells]> {
  let summary = "puts `low[i]` cells before and `high[i]` after dimension i, of value `value`";
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, F64Attr:$value);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $low $high $value attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ShiftOp : Graph_PureOp<"shift", [SameOperandsAndResultType, Graph_Cells]> {
  let summary = "y[.., i, ..] = x[.., i + amount, ..], or `fill` outside";
  let description = [{ The labels of a causal loss: a pad and a slice of equal length, in one op that keeps the factor. }];
  let arguments = (ins Graph_IntTensor:$x, I64Attr:$dim, I64Attr:$amount, I64Attr:$fill);
  let results = (outs Graph_IntTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}
def Graph_ConcatOp : Graph_DiffOp<"concat", [Graph_Cells]> {
  let summary = "joins along an existing dimension";
  let arguments = (ins Variadic<Graph_Tensor>:$xs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$xs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_StackOp : Graph_DiffOp<"stack", [Graph_Cells]> {
  let summary = "joins along a new dimension dim of the result, of size the number of operands";
  let arguments = (ins Variadic<Graph_Tensor>:$xs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$xs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_UnstackOp : Graph_DiffOp<"unstack", [Graph_Cells]> {
  let summary = "the parts along dimension dim, one result each; its gradient is stack";
  let arguments = (ins Graph_Tensor:$x, I64Attr:$dim);
  let results = (outs Variadic<Graph_Tensor>:$ys);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_GatherOp : Graph_DiffOp<"gather", [Graph_Cells]> {
  let summary = "y[a.., i.., c..] = x[a.., indices[i..], c..] along `axis`";
  let description = [{ General form, for imports; rows of a parameter become `graph.embedding`. Indices count from 0. }];
  let arguments = (ins Graph_Tensor:$x, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $indices attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_MOVEMENTOPS
