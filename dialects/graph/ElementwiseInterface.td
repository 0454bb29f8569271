//===- ElementwiseInterface.td - Ops that work cell by cell
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the kernel generator builds the body of an elementwise op.
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

#endif // DTCC_DIALECTS_GRAPH_ELEMENTWISEINTERFACE
