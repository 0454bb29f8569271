//===- ElementwiseInterface.td - Ops that work cell by cell
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the kernel generator builds the body of an elementwise op, and how single cells
// are evaluated.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_ELEMENTWISEINTERFACE
#define DTCC_DIALECTS_GRAPH_ELEMENTWISEINTERFACE

include "mlir/IR/OpBase.td"

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let description = [{ An op that computes each cell of its result from the same cell of its operands. }];
  let cppNamespace = "::dtcc::graph";
  let methods = [
    InterfaceMethod<[{Builds the op's body with arith and math ops. `cells` are scalars or vectors of
                      the operands' element types; the value has the result's element type.}],
                    "::mlir::Value", "buildCell",
                    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$cells)>,
  ];
}

def CellOpInterface : OpInterface<"CellOpInterface"> {
  let description = [{
    The op's meaning one cell at a time, for evaluation on demand: a mask of 2^26 cells
    is known by a few thousand of them. Numbers are f64, integers and booleans included.
    By default the cell is computed from the same cell of every operand.
  }];
  let cppNamespace = "::dtcc::graph";
  let methods = [
    InterfaceMethod<"One cell of a result; `read` gives a cell of an operand. Nothing where a cell is not known.",
                    "std::optional<double>", "evaluateCell",
                    (ins "unsigned":$result, "::llvm::ArrayRef<int64_t>":$index, "::dtcc::graph::CellReader":$read),
                    "", [{ return ::dtcc::graph::evaluateSameCell($_op, index, read); }]>,
  ];
}

#endif // DTCC_DIALECTS_GRAPH_ELEMENTWISEINTERFACE
