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
// The chain also excludes dependences. The first op of the chain that depends on an op stands not behind the first one
// that depends on any of its readers. So nothing depends on an op whose first place is behind its own. When several ops
// become one, its maker lowers the places of all ops on which the one depends; then both answers hold for the new
// graph.
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

  /// The place of the first op of the chain that depends on `op`, or is it; kNowhere if there is none.
  unsigned firstBelow(mlir::Operation *op) const {
    auto known = below.find(op);
    return known == below.end() ? kNowhere : known->second;
  }
  /// Makes `place` the first place below `op`, unless it is there or before it already. Returns whether it was behind.
  bool lower(mlir::Operation *op, unsigned place) {
    if (firstBelow(op) <= place)
      return false;
    below[op] = place;
    return true;
  }
  /// True only if `op` depends on one of the ops whose firstBelow is `place`, or is one.
  bool proves(mlir::Operation *op, unsigned place) const {
    auto known = above.find(op);
    return known != above.end() && place <= known->second;
  }
  /// True only if `op` depends on none of the ops whose firstBelow is `place`, and is none.
  bool excludes(mlir::Operation *op, unsigned place) const { return firstBelow(op) < place; }

private:
  static constexpr unsigned kNowhere = ~0u;
  /// The place of the last op of the chain on which an op depends, or which it is; of the first that depends on an op,
  /// or that it is.
  llvm::DenseMap<mlir::Operation *, unsigned> above, below;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_SPINE_H
