//===- Spine.h - Dependences that one chain of a block proves ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The longest chain of ops in a block, each of which depends on the one before. In a training step it passes through
// all layers and back, so nearly every op hangs on it. If something on the chain depends on one op, and another op
// depends on something at the same place of the chain or behind it, then that op depends on the first. Such a proof
// takes one comparison, where a walk visits all that lies between. What the chain does not prove may still depend.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_SPINE_H
#define DTCC_PASSES_EXEC_LOCAL_SPINE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtcc::exec {

class Spine {
public:
  using Handle = llvm::function_ref<void(mlir::Operation *)>;
  /// `forSources` calls its handle for all ops of the block on which an op depends directly, all of which stand before
  /// it. Takes time by the number of ops and dependences.
  Spine(mlir::Block &block, llvm::function_ref<void(mlir::Operation *, Handle)> forSources);

  /// True only if `op` is `source` or depends on it.
  bool proves(mlir::Operation *op, mlir::Operation *source) const {
    auto up = above.find(op), down = below.find(source);
    return up != above.end() && down != below.end() && down->second <= up->second;
  }

private:
  /// The last op of the chain on which an op depends, or which it is; the first that depends on an op, or that it is.
  llvm::DenseMap<mlir::Operation *, unsigned> above, below;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_SPINE_H
