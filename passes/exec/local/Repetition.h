//===- Repetition.h - Kernels that make again what they read ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel recomputes a value instead of reading it if what it reads for that has at most about half the
// bytes: the f32 form of a 16-bit value, or a difference to a mean. If that kernel is the only other reader, operands
// of about the same size suffice, because the value is then not stored at all.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_REPETITION_H
#define DTCC_PASSES_EXEC_LOCAL_REPETITION_H

#include "passes/exec/local/FusedGroups.h"
#include "llvm/ADT/SetVector.h"

namespace dtcc::exec {

class Repetition {
public:
  explicit Repetition(FusedGroups &kernels) : kernels(kernels) {}
  /// Repeats an op in its readers if they can recompute it from fewer bytes than the kernel would write: from halves
  /// instead of their f32, or from sums that hold one number per row. If one kernel alone wants the result, it may also
  /// read an activation as large as that: the result need not be stored then.
  void run();

private:
  bool sourcesAreKernels(mlir::Operation *op, const Group &reader) const;
  bool mayKeepOperands(mlir::Operation *op, const Group &group) const;
  double readsOf(mlir::Operation *op, Group &reader, llvm::SetVector<mlir::Operation *> *chain) const;
  bool repeat(mlir::Operation *op, Group &reader, llvm::ArrayRef<mlir::OpOperand *> uses, bool isOnlyReader,
              llvm::ArrayRef<mlir::Operation *> along);
  llvm::SmallVector<mlir::Operation *> readOnlyFor(mlir::Operation *op, const Group &group) const;
  void eraseUnread(mlir::Operation *op, Group &group, llvm::ArrayRef<Group *> readers);

  FusedGroups &kernels;
  /// The kernel's own copy of a value that it repeats, by kernel and value.
  llvm::DenseMap<std::pair<Group *, mlir::Value>, mlir::Value> repeated;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_REPETITION_H
