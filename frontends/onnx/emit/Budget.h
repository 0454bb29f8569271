//===- Budget.h - How much a file may ask of its import
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that call functions, recurrent nodes and constants that are computed now make much of few bytes: forty
// functions of two calls each stand for 2^40 nodes. An import ends with an error once it has used up its budget, so
// that its time and memory are bounded by the size of the file:
//
//   nodes imported, each call of a function anew, and ops made for them   2^18 + 64 for each node of the file
//   cells of constants that are read and made to fold ops                 2^28
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_BUDGET_H
#define DTCC_FRONTENDS_ONNX_EMIT_BUDGET_H

#include "mlir/IR/Builders.h"

namespace dtcc::onnx {

/// Counts what an import does. It listens to the builder with which the import makes its ops.
class Budget : public mlir::OpBuilder::Listener {
public:
  /// Before the import: the nodes of the file, those of functions and branches included.
  void setFileNodes(int64_t nodes) { fileNodes = nodes; }

  void countNode() { ++work; }
  void notifyOperationInserted(mlir::Operation *, mlir::OpBuilder::InsertPoint) override { ++work; }
  /// False once there are too many of them.
  bool countFolded(int64_t cells) { return (folded += cells) <= kMostFolded; }

  bool isSpent() const { return work > most(); }
  int64_t most() const { return kLeastWork + kWorkOfNode * fileNodes; }
  static constexpr int64_t kMostFolded = int64_t(1) << 28;

private:
  static constexpr int64_t kLeastWork = int64_t(1) << 18, kWorkOfNode = 64;
  int64_t fileNodes = 0, work = 0, folded = 0;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_BUDGET_H
