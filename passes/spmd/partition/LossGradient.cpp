//===- LossGradient.cpp - What of the backward pass a pipeline runs beside the loss
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/partition/LossGradient.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "passes/spmd/layout/AssignStages.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dtcc::spmd {

namespace {
class Reach {
public:
  explicit Reach(graph::CrossEntropyGradOp root) : stage(getStage(root)) { ops.insert(root); }

  /// False if something cannot run in the forward phase.
  bool grow() {
    for (size_t i = 0; i < ops.size(); ++i) {
      for (Value operand : ops[i]->getOperands())
        if (!isAvailable(operand))
          return false;
      // A sum for the gradient of an input ends it, at the size of an activation; that of a parameter is added up here.
      auto factored = dyn_cast<FactorOpInterface>(ops[i]);
      bool sums = factored && !factored.getFactorMap().reducedFactors().empty();
      if (sums && graph::getPhase(ops[i]) != graph::Phase::WeightGradient)
        continue;
      for (Operation *user : ops[i]->getUsers()) {
        if (accessesState(user, StateAccessKind::Update))
          continue;
        if (getStage(user) != stage)
          return false;
        ops.insert(user);
      }
    }
    return true;
  }
  ArrayRef<Operation *> all() const { return ops.getArrayRef(); }

private:
  bool isAvailable(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || ops.contains(op) || isStored(op))
      return true;
    if (graph::getOrigin(op))
      return graph::getPhase(op) == graph::Phase::Forward;
    // A reshard is of the phase of what it moves.
    return op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value from) { return isAvailable(from); });
  }

  std::optional<int64_t> stage;
  llvm::SetVector<Operation *> ops;
};
} // namespace

llvm::DenseSet<Operation *> findLossGradient(func::FuncOp step) {
  llvm::DenseSet<Operation *> found;
  for (auto root : step.getOps<graph::CrossEntropyGradOp>())
    if (Reach reach(root); reach.grow())
      found.insert_range(reach.all());
  return found;
}

} // namespace dtcc::spmd
