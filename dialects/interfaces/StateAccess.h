//===- StateAccess.h - How an op touches state -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state is a tensor that lives across steps: a parameter with its moments, or a buffer.
// Ops that touch states implement StateAccessOpInterface; passes ask here.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_STATEACCESS_H
#define DTCC_DIALECTS_INTERFACES_STATEACCESS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace dtcc {

enum class StateAccessKind {
  /// The value is the state's at the start of the step.
  Read,
  /// The value becomes the state's at the end of the step.
  Write,
  /// The value is the gradient by which the optimizer changes the state at the end of the step.
  Update
};

struct StateAccess {
  StateAccessKind kind;
  llvm::StringRef state;
  mlir::Value value;
};

/// The accesses of `op`; none if it touches no state.
llvm::SmallVector<StateAccess, 1> stateAccesses(mlir::Operation *op);
/// Whether `op` accesses a state in the way `kind`.
bool accessesState(mlir::Operation *op, StateAccessKind kind);
/// The state that `op` reads, if it is a read.
std::optional<llvm::StringRef> readState(mlir::Operation *op);
/// Whether the results of `op` exist before the step computes: states and constants do.
bool isStored(mlir::Operation *op);
/// Whether `op` ends the step: an update, or the terminator that returns the results.
bool endsStep(mlir::Operation *op);

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_STATEACCESS_H
