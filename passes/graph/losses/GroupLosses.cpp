//===- GroupLosses.cpp - Terms of a loss that each micro-batch computes by itself
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/Passes.h"
#include "passes/graph/losses/GroupedValues.h"
#include "passes/graph/losses/SampleUse.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHGROUPLOSSES
#include "passes/graph/Passes.h.inc"
#include "llvm/ADT/MapVector.h"

namespace {

/// Finds the values of a loss that micro-batches cannot add up, and replaces them by means over groups.
class LossGroups {
public:
  explicit LossGroups(const SampleUse &samples) : samples(samples), values(samples) {}

  /// Returns how many terms were replaced.
  FailureOr<size_t> run(Value loss);

private:
  bool addsUp(Value value);
  /// The operands in which the op of `value` is linear, if samples meet there in sums at most and the other operands
  /// need no group; else nothing.
  std::optional<SmallVector<Value>> linearIn(Value value);
  /// Replaces `value`, or what it is a linear function of.
  LogicalResult visit(Value value);

  const SampleUse &samples;
  GroupedValues values;
  llvm::DenseMap<Value, bool> known;
  llvm::DenseSet<Value> visited;
  llvm::MapVector<Value, Value> replaced;
};

} // namespace

std::optional<SmallVector<Value>> LossGroups::linearIn(Value value) {
  Operation *op = value.getDefiningOp();
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored || !samples.meetsInSums(value))
    return std::nullopt;
  // A value with a cell for each sample would need the whole sum in every sample.
  auto isMixed = [&](Value operand) { return samples.of(operand).mixesTrained; };
  if (!samples.dimsOf(value).empty() && llvm::any_of(op->getOperands(), isMixed))
    return std::nullopt;
  for (ArrayRef<unsigned> set : factored.getFactorMap().linear) {
    auto fits = [&](OpOperand &operand) {
      return llvm::is_contained(set, operand.getOperandNumber()) || !isMixed(operand.get());
    };
    if (!llvm::all_of(op->getOpOperands(), fits))
      continue;
    SmallVector<Value> operands;
    for (unsigned number : set)
      operands.push_back(op->getOperand(number));
    return operands;
  }
  return std::nullopt;
}

/// Whether the values that micro-batches compute for `value` add up to that of the batch. Values that are computed from
/// one sample, or from data alone, need not be added up.
bool LossGroups::addsUp(Value value) {
  if (!samples.of(value).mixesTrained)
    return true;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  // A sum over samples, of whatever each sample gives.
  bool isSum = samples.meetsInSums(value) &&
               llvm::none_of(op->getOperands(), [&](Value operand) { return samples.of(operand).mixesTrained; });
  if (!isSum)
    if (std::optional<SmallVector<Value>> operands = linearIn(value))
      isSum = llvm::all_of(*operands, [&](Value operand) { return addsUp(operand); });
  return known[value] = isSum;
}

LogicalResult LossGroups::visit(Value value) {
  if (!visited.insert(value).second || addsUp(value))
    return success();
  if (std::optional<SmallVector<Value>> operands = linearIn(value)) {
    for (Value operand : *operands)
      if (failed(visit(operand)))
        return failure();
    return success();
  }
  Value mean = values.average(value);
  replaced[value] = mean;
  return success(mean != nullptr);
}

FailureOr<size_t> LossGroups::run(Value loss) {
  if (failed(visit(loss)))
    return failure();
  // Values are replaced only now, because rows are computed from the old ones.
  for (auto [value, mean] : replaced)
    value.replaceAllUsesWith(mean);
  return replaced.size();
}

namespace {
struct GroupLosses : impl::GraphGroupLossesBase<GroupLosses> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto groups = module->getAttrOfType<IntegerAttr>(kLossGroupsAttr);
    if (!groups)
      return;
    module->removeAttr(kLossGroupsAttr);
    func::FuncOp function = findLoss(module);
    if (!function)
      return signalPassFailure();
    if (groups.getInt() < 1) {
      function.emitError("number of micro-batches must be at least 1, got: ") << groups.getInt();
      return signalPassFailure();
    }
    SampleUse samples(function, groups.getInt());
    if (samples.samples() % groups.getInt()) {
      function.emitError("batch must divide by the number of micro-batches, ")
          << groups.getInt() << ", got: " << samples.samples();
      return signalPassFailure();
    }
    FailureOr<size_t> terms = LossGroups(samples).run(function.front().getTerminator()->getOperand(0));
    if (failed(terms))
      return signalPassFailure();
    // Terms are no longer computed from values of the whole batch, which may be unused now.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    if (*terms > 0)
      module.emitRemark() << *terms << (*terms > 1 ? " terms of the loss are" : " term of the loss is")
                          << " computed from each of the " << groups.getInt()
                          << " micro-batches, as gradient accumulation does: another number of micro-batches trains "
                             "another model";
  }
};
} // namespace
} // namespace dtcc::graph
