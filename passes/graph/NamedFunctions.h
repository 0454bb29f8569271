//===- NamedFunctions.h - The loss and the step of a module
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lookups with which passes begin: those between a frontend and the training step with the loss, later ones with the
// step.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_NAMEDFUNCTIONS_H
#define DTCC_PASSES_GRAPH_NAMEDFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc::graph {

/// The function `name` of the module if it has a body of one block; else null.
inline mlir::func::FuncOp findFunctionOfOneBlock(mlir::ModuleOp module, llvm::StringRef name) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>(name);
  return function && !function.isExternal() && function.getBody().hasOneBlock() ? function : mlir::func::FuncOp();
}

/// `func.func @loss` of the module if it has a body of one block; else null, after a message.
inline mlir::func::FuncOp findLoss(mlir::ModuleOp module) {
  mlir::func::FuncOp loss = findFunctionOfOneBlock(module, "loss");
  if (!loss)
    module.emitError("needs a function @loss of one block");
  return loss;
}

/// `func.func @step` of the module, which graph-differentiate makes, if it has a body of one block; else null, after a
/// message.
inline mlir::func::FuncOp findStep(mlir::ModuleOp module) {
  mlir::func::FuncOp step = findFunctionOfOneBlock(module, "step");
  if (!step)
    module.emitError("needs a function @step of one block: run graph-differentiate first");
  return step;
}

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_NAMEDFUNCTIONS_H
