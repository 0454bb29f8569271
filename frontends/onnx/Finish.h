//===- Finish.h - Gives an imported function the form that passes rely on
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function returns its loss as (sum, count); states learn from the graph whether
// they train, and inputs what they are for.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_FINISH_H
#define DTCC_FRONTENDS_ONNX_FINISH_H

#include "frontends/onnx/Scopes.h"

namespace dtcc::onnx {

/// A function into which all nodes were imported, and the parts of the import.
struct BuiltFunction {
  const SourceFile &source;
  Emitter &emitter;
  States &states;
  Scopes &scopes;
  mlir::func::FuncOp function;

  /// A new input of the function.
  Tensor addInput(llvm::StringRef name, mlir::RankedTensorType type) const;
};

/// Completes the function. Failure after one message.
mlir::LogicalResult finishFunction(const BuiltFunction &built);

/// The loss that the command line names; its labels become an input of the function.
mlir::FailureOr<Tensor> attachLoss(const BuiltFunction &built);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_FINISH_H
