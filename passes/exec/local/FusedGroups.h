//===- FusedGroups.h - Ops of a block that become kernels -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These groups are the kernels that exec-fuse has decided on so far. The ops of a group stay in the block
// until outline() moves them into an exec.fused.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_FUSEDGROUPS_H
#define DTCC_PASSES_EXEC_LOCAL_FUSEDGROUPS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <memory>

namespace dtcc::exec {

struct Group {
  llvm::SmallVector<mlir::Operation *> ops; // in program order
  unsigned last = 0;                        // the number of the last op
};

class FusedGroups {
public:
  explicit FusedGroups(mlir::Block &block) : block(block) {}

  /// The ops, and those whose results are repeated in each kernel that reads them, in program order.
  llvm::SmallVector<mlir::Operation *> withDuplicates(llvm::ArrayRef<mlir::Operation *> ops) const;
  /// Whether the ops of a group form one kernel, with the results that are read outside the group now.
  bool isKernel(llvm::ArrayRef<mlir::Operation *> ops) const;
  /// Forgets groups without ops.
  void eraseEmpty();
  /// Moves the ops of a group into an exec.fused behind the last of them.
  void outline(Group &group) const;

  mlir::Block &block;
  llvm::SmallVector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<mlir::Operation *, Group *> groupOf;
};

/// The order of the block, in which copies have places, too.
bool isEarlier(mlir::Operation *a, mlir::Operation *b);
/// Whether something that is not in the kernel reads the value. A duplicable op is in each kernel that reads it.
bool isReadOutside(mlir::Value value, const llvm::SmallPtrSetImpl<mlir::Operation *> &members);
/// 0 of what is no tensor.
double bytesOf(mlir::Value value);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_FUSEDGROUPS_H
