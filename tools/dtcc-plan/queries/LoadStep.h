//===- LoadStep.h - A model as a differentiated training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_QUERIES_LOADSTEP_H
#define DTCC_TOOLS_DTCC_PLAN_QUERIES_LOADSTEP_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>

namespace dtcc {

/// A module with what it lives in.
class LoadedStep {
public:
  /// Loads `options.input` and makes a training step of it, unless it is one. Null after one message, which `silent`
  /// leaves out.
  static std::unique_ptr<LoadedStep> load(const Options &options, bool silent = false);
  mlir::ModuleOp module() { return *owned; }

private:
  explicit LoadedStep(const mlir::DialectRegistry &registry) : context(registry) {}
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> owned;
};

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_QUERIES_LOADSTEP_H
