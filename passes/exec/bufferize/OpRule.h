//===- OpRule.h - How one kind of op becomes commands -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of the table of OpRules.cpp, as those see it who only ask what a rule allows.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_BUFFERIZE_OPRULE_H
#define DTCC_PASSES_EXEC_BUFFERIZE_OPRULE_H

#include "mlir/IR/Operation.h"

namespace dtcc::exec {

class Bufferizer;

/// Rule by which bufferization lowers one kind of op.
struct OpRule {
  /// Emits the commands of an op and places its results.
  mlir::LogicalResult (*lower)(mlir::Operation *, Bufferizer &);
  /// The results may be views of the operands.
  bool isView = false;
  /// Rows of operands and results may stand apart; products want those that are wide to start at aligned addresses.
  bool takesRows = false, wantsAlignedRows = false;
  /// Results may be written with any strides; and added to what is there.
  bool writesStrided = false;
  bool accumulates = false;
  /// Whether a result may be written in a narrower float type than its own, rounded behind a sum; null: none may.
  bool (*mayRound)(mlir::Value result, mlir::Type type, const Bufferizer &) = nullptr;
  /// Hands the destinations of results on to operands.
  void (*aim)(mlir::Operation *, Bufferizer &) = nullptr;
};

/// The rule of an op, or null.
const OpRule *findRule(mlir::Operation *op);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_OPRULE_H
