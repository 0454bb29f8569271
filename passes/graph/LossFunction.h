//===- LossFunction.h - Where a model's loss is
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lookup of the loss function, with which every pass between a frontend and the training step begins.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_LOSSFUNCTION_H
#define DTCC_PASSES_GRAPH_LOSSFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc::graph {

/// `func.func @loss` of the module if it has a body of one block; else null, after a message.
inline mlir::func::FuncOp findLoss(mlir::ModuleOp module) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("loss");
  if (function && !function.isExternal() && function.getBody().hasOneBlock())
    return function;
  module.emitError("needs a function @loss of one block");
  return {};
}

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_LOSSFUNCTION_H
