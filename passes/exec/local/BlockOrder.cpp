//===- BlockOrder.cpp - Restore the order of a block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/exec/local/BlockOrder.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <queue>
#include <vector>

using namespace mlir;

void dtcc::exec::restoreOrder(Block &block) {
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    ops.push_back(&op);
  }
  SmallVector<unsigned> missing(ops.size(), 0);
  SmallVector<SmallVector<unsigned>> waiting(ops.size());
  auto waitFor = [&](unsigned op, Operation *before) {
    waiting[numbers.lookup(before)].push_back(op);
    ++missing[op];
  };
  Operation *lastEffect = nullptr;
  for (auto [number, op] : llvm::enumerate(ops)) {
    // An op reads the values that its nested ops read.
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
          waitFor(number, producer);
    });
    if (isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>())
      continue;
    if (lastEffect)
      waitFor(number, lastEffect);
    lastEffect = op;
  }
  // The first of the ops that are ready is next: what need not wait keeps its place.
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (auto [number, count] : llvm::enumerate(missing))
    if (count == 0)
      ready.push(number);
  Operation *terminator = block.mightHaveTerminator() ? block.getTerminator() : nullptr;
  while (!ready.empty()) {
    unsigned number = ready.top();
    ready.pop();
    if (ops[number] != terminator)
      ops[number]->moveBefore(&block, block.end());
    for (unsigned next : waiting[number])
      if (--missing[next] == 0)
        ready.push(next);
  }
  if (terminator)
    terminator->moveBefore(&block, block.end());
}
