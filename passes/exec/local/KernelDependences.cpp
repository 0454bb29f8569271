//===- KernelDependences.cpp - Whether a kernel depends on another
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/local/KernelDependences.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/exec/codegen/KernelDomain.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace dtcc::exec {

static llvm::DenseMap<Operation *, Operation *> findEffectsBefore(Block &block) {
  llvm::DenseMap<Operation *, Operation *> before;
  Operation *last = nullptr;
  for (Operation &op : block)
    if (!isMemoryEffectFree(&op)) {
      before[&op] = last;
      last = &op;
    }
  return before;
}

KernelDependences::KernelDependences(Block &block, KernelOf kernelOf)
    : block(block), kernelOf(std::move(kernelOf)), effectsBefore(findEffectsBefore(block)),
      spine(block, [this](Operation *op, Spine::Handle handle) { forSources(op, handle); }) {}

/// Calls `handle` for the ops of the block on which `op` depends directly.
void KernelDependences::forSources(Operation *op, Spine::Handle handle) const {
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
      handle(producer);
  if (Operation *before = effectsBefore.lookup(op))
    handle(before);
}

bool KernelDependences::leavesAndReturns(ArrayRef<Operation *> kernel, ArrayRef<Operation *> ops) const {
  llvm::SmallPtrSet<Operation *, 16> members(kernel.begin(), kernel.end()), seen;
  unsigned below = spine.firstBelow(kernel.front());
  SmallVector<Operation *> work;
  auto push = [&](auto &self, Operation *from, bool direct) -> bool {
    SmallVector<Operation *> producers;
    forSources(from, [&](Operation *producer) { producers.push_back(producer); });
    for (Operation *producer : producers) {
      if (members.contains(producer)) {
        if (!direct)
          return true;
        continue;
      }
      // A producer that the kernel repeats does not lead out of the kernel.
      if (direct && isDuplicable(producer) && isFusible(producer)) {
        if (self(self, producer, direct))
          return true;
        continue;
      }
      if (spine.proves(producer, below))
        return true;
      if (spine.excludes(producer, below))
        continue;
      // A kernel runs as a whole at the place of its last op.
      ArrayRef<Operation *> other = kernelOf(producer);
      for (Operation *member : other.empty() ? ArrayRef<Operation *>(producer) : other) {
        if (spine.proves(member, below))
          return true;
        if (seen.insert(member).second)
          work.push_back(member);
      }
    }
    return false;
  };
  for (Operation *op : ops)
    if (push(push, op, /*direct=*/true))
      return true;
  while (!work.empty())
    if (push(push, work.pop_back_val(), /*direct=*/false))
      return true;
  return false;
}

/// The first place of the spine that depends on one of the ops is that of all of them now, and of all on which they
/// depend.
void KernelDependences::join(ArrayRef<Operation *> kernel) {
  unsigned place = spine.firstBelow(kernel.front());
  for (Operation *op : kernel)
    place = std::min(place, spine.firstBelow(op));
  SmallVector<Operation *> work;
  auto lower = [&](Operation *op) {
    if (spine.lower(op, place))
      work.push_back(op);
  };
  llvm::for_each(kernel, lower);
  while (!work.empty())
    forSources(work.pop_back_val(), [&](Operation *source) {
      lower(source);
      llvm::for_each(kernelOf(source), lower);
    });
}

} // namespace dtcc::exec
