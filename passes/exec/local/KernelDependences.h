//===- KernelDependences.h - Whether a kernel depends on another
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops that become one kernel must not depend on themselves by way of another kernel. While kernels grow, this class
// answers whether they would. A kernel depends on all that one of its ops depends on: by what it reads, or by the order
// of effects. Ops that each kernel makes for itself (isDuplicable) lead out of none.
//
// A question walks back over what lies between; the Spine of the block ends most walks at once, because it proves or
// excludes a dependence by the places of two ops on one chain. These places are kept true for the kernels that exist.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_KERNELDEPENDENCES_H
#define DTCC_PASSES_EXEC_LOCAL_KERNELDEPENDENCES_H

#include "passes/exec/local/Spine.h"
#include "llvm/ADT/ArrayRef.h"
#include <functional>

namespace dtcc::exec {

class KernelDependences {
public:
  /// All ops of the kernel that an op is in; none if it is in no kernel.
  using KernelOf = std::function<llvm::ArrayRef<mlir::Operation *>(mlir::Operation *)>;
  KernelDependences(mlir::Block &block, KernelOf kernelOf);

  /// Whether an operand of one of `ops` outside the kernel depends on the kernel.
  bool leavesAndReturns(llvm::ArrayRef<mlir::Operation *> kernel, llvm::ArrayRef<mlir::Operation *> ops) const;
  /// Is to be called when these ops have become one kernel, which `kernelOf` says already.
  void join(llvm::ArrayRef<mlir::Operation *> kernel);

private:
  void forSources(mlir::Operation *op, Spine::Handle handle) const;

  mlir::Block &block;
  KernelOf kernelOf;
  /// The op with effects before an op with effects: their order stays.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> effectsBefore;
  Spine spine;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_KERNELDEPENDENCES_H
