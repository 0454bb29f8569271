//===- Repetition.cpp - Kernels that make again what they read
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===

#include "passes/exec/local/Repetition.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/exec/codegen/KernelDomain.h"
#include "llvm/ADT/MapVector.h"
#include <functional>

using namespace mlir;

namespace dtcc::exec {

/// Whether a kernel may make the op's result again for next to nothing. A product and a sum in one kernel may round
/// once: an op that multiplies is repeated (repeat()) only where it is of halves, whose own rounding is far above that,
/// or of broadcasts.
static bool isRepeatable(Operation *op) {
  if (auto cast = dyn_cast<graph::CastOp>(op))
    return graph::isHalf(cast.getX()) && bytesOf(cast.getX()) < bytesOf(cast.getResult());
  return isa<graph::AddOp, graph::SubOp, graph::MulOp>(op);
}

/// Whether the kernels that store what `op` of the kernel `reader` reads can store it. A clone may be the first reader
/// outside a kernel of a value that this kernel computes for several cells of its loops at a time.
bool Repetition::sourcesAreKernels(Operation *op, const Group &reader) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || producer->getBlock() != &kernels.block)
      return true;
    if (isFusible(producer) && isDuplicable(producer))
      return sourcesAreKernels(producer, reader);
    Group *source = kernels.groupOf.lookup(producer);
    return !source || source == &reader || kernels.isKernel(source->ops);
  });
}

/// Whether the large operands of `op` may be kept in place of its result: an activation that lies in memory. What its
/// own kernel makes does not yet, and parameters that are gathered, or a batch, are there for a while.
bool Repetition::mayKeepOperands(Operation *op, const Group &group) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    if (2 * bytesOf(operand) <= bytesOf(op->getResult(0)) ||
        (producer && isFusible(producer) && isDuplicable(producer)))
      return true;
    if (!producer || kernels.groupOf.lookup(producer) == &group)
      return false;
    return isFusible(producer) ||
           isa<graph::ContractOp, ProductOp, graph::ConvolutionOp, graph::ConvolutionInputGradOp>(producer);
  });
}

/// Moves a copy of a kernel to `before`, with the copies that it reads, where they stand behind that: the copy had its
/// place before its first reader, and another one came.
static void moveBefore(Operation *copy, Operation *before) {
  if (!isEarlier(before, copy))
    return;
  copy->moveBefore(before);
  for (Value operand : copy->getOperands())
    if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == copy->getBlock())
      moveBefore(producer, copy);
}

/// Part of a value's bytes that what has a number a channel, or a row, is below.
constexpr double kAsMuch = 1.0 / 16;

/// Bytes that `reader` would read in addition to make the op's result. With `chain`, what makes the operands in the
/// op's own kernel is made again, too: it is added, operands first.
double Repetition::readsOf(Operation *op, Group &reader, llvm::SetVector<Operation *> *chain) const {
  constexpr unsigned kLongest = 8;
  auto reads = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return kernels.groupOf.lookup(user) == &reader; });
  };
  double bytes = 0;
  llvm::SmallPtrSet<Value, 4> seen;
  for (Value operand : op->getOperands()) {
    // A broadcast reads the value that it repeats.
    SmallVector<Operation *> broadcasts;
    for (Operation *producer = operand.getDefiningOp();
         producer && isDuplicable(producer) && isFusible(producer) && producer->getNumOperands() == 1;
         producer = operand.getDefiningOp()) {
      broadcasts.push_back(producer);
      operand = producer->getOperand(0);
    }
    Operation *producer = operand.getDefiningOp();
    if (!seen.insert(operand).second || repeated.count({&reader, operand}) || reads(operand) ||
        (producer && (kernels.groupOf.lookup(producer) == &reader || (chain && chain->contains(producer)))))
      continue;
    // A number a channel costs nothing to make.
    const bool isSmall = isa_and_nonnull<graph::ElementwiseOpInterface>(producer) &&
                         bytesOf(operand) <= kAsMuch * bytesOf(op->getResult(0));
    if (chain && producer && kernels.groupOf.lookup(producer) == kernels.groupOf.lookup(op) &&
        (isSmall || isRepeatable(producer)) && chain->size() < kLongest) {
      bytes += readsOf(producer, reader, chain);
      chain->insert(producer);
      chain->insert(broadcasts.rbegin(), broadcasts.rend());
    } else {
      bytes += bytesOf(operand);
    }
  }
  return bytes;
}

/// Lets `reader` make the op's result itself for `uses`, if what it reads for that is at most half as large, or, where
/// the result is then stored nowhere, not much larger: that is kept in its place. Else returns false, and all is as it
/// was.
bool Repetition::repeat(Operation *op, Group &reader, ArrayRef<OpOperand *> uses, bool isOnlyReader,
                        ArrayRef<Operation *> along) {
  Value result = op->getResult(0);
  const double most = bytesOf(result) * ((isOnlyReader ? 1 : 0.5) + kAsMuch);
  llvm::SetVector<Operation *> chain;
  double reads = readsOf(op, reader, nullptr);
  if (reads > most || isa<graph::MulOp>(op) || !along.empty())
    reads = readsOf(op, reader, &chain);
  if (!llvm::all_of(along, [&](Operation *before) { return chain.contains(before); }))
    return false;
  const bool isOfHalves = llvm::any_of(chain, [](Operation *made) { return isa<graph::CastOp>(made); });
  if (reads > most || (isa<graph::MulOp>(op) && !isOfHalves && reads > kAsMuch * bytesOf(result)))
    return false;
  Operation *first = uses.front()->getOwner();
  for (OpOperand *use : uses)
    first = isEarlier(use->getOwner(), first) ? use->getOwner() : first;
  OpBuilder builder(first);
  IRMapping mapping;
  SmallVector<Operation *> clones;
  for (Operation *before : chain)
    clones.push_back(builder.clone(*before, mapping));
  Operation *made = builder.clone(*op, mapping);
  clones.push_back(made);
  for (Operation *clone : clones)
    for (OpOperand &operand : clone->getOpOperands())
      if (Value own = repeated.lookup({&reader, operand.get()})) {
        operand.set(own);
        moveBefore(own.getDefiningOp(), clone);
      }
  for (OpOperand *use : uses)
    use->set(made->getResult(0));
  SmallVector<Operation *> ops(reader.ops);
  llvm::copy_if(clones, std::back_inserter(ops), [](Operation *clone) { return !isDuplicable(clone); });
  llvm::sort(ops, isEarlier);
  if (!kernels.isKernel(ops) ||
      !llvm::all_of(clones, [&](Operation *clone) { return sourcesAreKernels(clone, reader); })) {
    for (OpOperand *use : uses)
      use->set(result);
    for (Operation *clone : llvm::reverse(clones))
      clone->erase();
    return false;
  }
  for (auto [before, clone] : llvm::zip(chain, clones)) {
    if (isDuplicable(clone))
      continue;
    kernels.groupOf[clone] = &reader;
    repeated[{&reader, before->getResult(0)}] = clone->getResult(0);
  }
  reader.ops = std::move(ops);
  kernels.groupOf[made] = &reader;
  repeated[{&reader, result}] = made->getResult(0);
  return true;
}

/// The other ops of a group of which only `op` reads what they make, the last first.
SmallVector<Operation *> Repetition::readOnlyFor(Operation *op, const Group &group) const {
  llvm::SetVector<Operation *> found;
  found.insert(op);
  std::function<bool(Operation *)> isRead = [&](Operation *other) {
    return llvm::any_of(other->getUsers(), [&](Operation *user) {
      return !found.contains(user) && (!isDuplicable(user) || !isFusible(user) || isRead(user));
    });
  };
  for (Operation *other : llvm::reverse(group.ops))
    if (!isRead(other))
      found.insert(other);
  return SmallVector<Operation *>(llvm::drop_begin(found));
}

/// Erases an op of a group that nothing reads any more, and then what it alone read.
void Repetition::eraseUnread(Operation *op, Group &group, ArrayRef<Group *> readers) {
  if (!op->use_empty())
    return;
  llvm::erase(group.ops, op);
  kernels.groupOf.erase(op);
  // The allocator may make another op at the address of this one, so no table may still name it.
  for (Group *reader : readers)
    for (Value result : op->getResults())
      repeated.erase({reader, result});
  llvm::SetVector<Operation *> sources;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      sources.insert(producer);
  op->erase();
  for (Operation *producer : sources)
    if (kernels.groupOf.lookup(producer) == &group || (isDuplicable(producer) && isFusible(producer)))
      eraseUnread(producer, group, readers);
}

void Repetition::run() {
  for (std::unique_ptr<Group> &group : kernels.groups)
    for (Operation *op : SmallVector<Operation *>(group->ops)) {
      if (!isRepeatable(op))
        continue;
      llvm::MapVector<Group *, SmallVector<OpOperand *>> readers;
      bool isStored = false; // whatever kernels do
      for (OpOperand &use : op->getUses()) {
        Group *reader = kernels.groupOf.lookup(use.getOwner());
        isStored |= !reader;
        if (reader != group.get())
          readers[reader].push_back(&use);
      }
      if (isStored || readers.empty())
        continue;
      // Without the op the others must be one kernel still.
      bool isUsedHere =
          llvm::any_of(op->getUsers(), [&](Operation *user) { return kernels.groupOf.lookup(user) == group.get(); });
      auto staysKernel = [&](ArrayRef<Operation *> gone) {
        SmallVector<Operation *> rest(group->ops);
        llvm::erase_if(rest, [&](Operation *other) { return llvm::is_contained(gone, other); });
        return rest.empty() || kernels.isKernel(rest);
      };
      SmallVector<Operation *> along;
      if (!isUsedHere && !staysKernel(op)) {
        along = readOnlyFor(op, *group);
        along.push_back(op);
        if (!staysKernel(along))
          continue;
        along.pop_back();
      }
      for (auto &[reader, uses] : readers)
        if (!repeat(op, *reader, uses, readers.size() == 1 && mayKeepOperands(op, *group), along))
          break;
      eraseUnread(op, *group, llvm::to_vector(llvm::make_first_range(readers)));
    }
  kernels.eraseEmpty();
}

} // namespace dtcc::exec
