//===- FusedGroups.cpp - Ops of a block that become kernels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===

#include "passes/exec/local/FusedGroups.h"
#include "dialects/exec/Exec.h"
#include "dialects/interfaces/Bytes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/exec/codegen/KernelDomain.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dtcc::exec {

bool isEarlier(Operation *a, Operation *b) { return a->isBeforeInBlock(b); }

SmallVector<Operation *> FusedGroups::withDuplicates(ArrayRef<Operation *> ops) const {
  llvm::SetVector<Operation *> all(ops.begin(), ops.end());
  for (size_t i = 0; i < all.size(); ++i)
    for (Value operand : all[i]->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == &block && isDuplicable(producer) && isFusible(producer))
        all.insert(producer);
  SmallVector<Operation *> sorted(all.begin(), all.end());
  llvm::sort(sorted, isEarlier);
  return sorted;
}

bool isReadOutside(Value value, const llvm::SmallPtrSetImpl<Operation *> &members) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (members.contains(user))
      return false;
    if (!isDuplicable(user) || !isFusible(user))
      return true;
    return llvm::any_of(user->getResults(), [&](Value result) { return isReadOutside(result, members); });
  });
}

double bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? double(getBytes(type)) : 0;
}

bool FusedGroups::isKernel(ArrayRef<Operation *> ops) const {
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  auto isOutput = [&](Value value) { return members.contains(value.getDefiningOp()) && isReadOutside(value, members); };
  return succeeded(KernelDomain::analyze(withDuplicates(ops), isOutput));
}

void FusedGroups::eraseEmpty() {
  llvm::erase_if(groups, [](const std::unique_ptr<Group> &group) { return group->ops.empty(); });
}

void FusedGroups::outline(Group &group) const {
  SmallVector<Operation *> kernel = withDuplicates(group.ops);
  llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(), group.ops.end());
  llvm::SmallPtrSet<Operation *, 16> inside(kernel.begin(), kernel.end());
  auto isOutput = [&](Value value) { return members.contains(value.getDefiningOp()) && isReadOutside(value, members); };
  FailureOr<KernelDomain> domain = KernelDomain::analyze(kernel, isOutput);
  SmallVector<Operation *> apart = succeeded(domain) ? domain->apart : SmallVector<Operation *>();
  llvm::SetVector<Value> inputs, outputs;
  for (Operation *op : kernel) {
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()) && !llvm::is_contained(apart, op))
        inputs.insert(operand);
    if (members.contains(op))
      for (Value result : op->getResults())
        if (isOutput(result))
          outputs.insert(result);
  }
  SmallVector<Value> operands = inputs.takeVector();
  for (Operation *op : apart)
    operands.push_back(op->getOperand(0));
  Operation *last = group.ops.back();
  OpBuilder builder(last);
  builder.setInsertionPointAfter(last);
  SmallVector<Type> types;
  for (Value output : outputs)
    types.push_back(output.getType());
  SmallVector<Location> places;
  for (Operation *op : group.ops)
    places.push_back(op->getLoc());
  auto fused = FusedOp::create(builder, builder.getFusedLoc(places), types, operands, StringAttr());
  Block *body = builder.createBlock(&fused.getBody());
  IRMapping mapping;
  for (Value operand : operands)
    body->addArgument(operand.getType(), operand.getLoc());
  unsigned shared = operands.size() - apart.size();
  for (unsigned i = 0; i < shared; ++i)
    mapping.map(operands[i], body->getArgument(i));
  for (Operation *op : kernel) {
    auto *own = llvm::find(apart, op);
    if (own == apart.end()) {
      builder.clone(*op, mapping);
      continue;
    }
    // The argument is this reader's alone.
    IRMapping alone;
    alone.map(op->getOperand(0), body->getArgument(shared + (own - apart.begin())));
    mapping.map(op->getResult(0), builder.clone(*op, alone)->getResult(0));
  }
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(mapping.lookup(output));
  YieldOp::create(builder, last->getLoc(), yielded);
  for (auto [output, result] : llvm::zip_equal(outputs, fused.getResults()))
    Value(output).replaceUsesWithIf(
        result, [&](OpOperand &use) { return use.getOwner() != fused && !members.contains(use.getOwner()); });
  for (Operation *op : llvm::reverse(kernel))
    if (op->use_empty())
      op->erase();
}

} // namespace dtcc::exec
