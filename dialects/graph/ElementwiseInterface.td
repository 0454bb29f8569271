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

def IndexedCellOpInterface : OpInterface<"IndexedCellOpInterface"> {
  let description = [{
    An op whose cells also depend on where they stand in the whole tensor, and on the
    step: random numbers. On a shard, `offset_axes` and `global_shape` say where that is.
  }];
  let cppNamespace = "::dtcc::graph";
  let methods = [
    InterfaceMethod<[{Builds the body. `cells` are scalars or vectors, `index` the row-major index of each cell in
                      the whole tensor (i64, scalar or vector alike), `seed` and `step` i64 scalars.}],
                    "::mlir::Value", "buildIndexedCell",
                    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$cells,
                         "::mlir::Value":$index, "::mlir::Value":$seed, "::mlir::Value":$step)>,
  ];
}

#endif // DTCC_DIALECTS_GRAPH_ELEMENTWISEINTERFACE
