//===- SampleUse.cpp - Where samples meet in a loss
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/losses/SampleUse.h"
#include "dialects/graph/Shapes.h"
#include "dialects/interfaces/StateAccess.h"

using namespace mlir;

namespace dtcc::graph {

SampleUse::SampleUse(func::FuncOp function, int64_t groups)
    : module(function->getParentOfType<ModuleOp>()), factoring(analyzeDimensions(module)), groupCount(groups) {
  for (BlockArgument argument : function.getArguments()) {
    SampleSource &source = sources[argument];
    if (rankOf(argument) == 0)
      continue;
    // A batch of one sample has no class, and is not cut.
    for (DimensionClasses::Id id : factoring.classes.leaves(factoring.values[argument][0]))
      classes.insert(id);
    count = std::max(count, shapeOf(argument)[0]);
    source.samples = true;
  }
  for (Operation &op : function.front()) {
    const SampleSource common = sourceOf(&op);
    for (OpResult result : op.getResults()) {
      SampleSource source = common;
      if (source.samples && findMeeting(result)) {
        meeting.insert(result);
        source.mixes = true;
        source.mixesTrained |= source.trained;
      }
      sources[result] = source;
    }
  }
}

SmallVector<int64_t> SampleUse::dimsOf(Value value) const {
  SmallVector<int64_t> dims;
  for (auto [dim, list] : llvm::enumerate(factoring.values.at(value))) {
    SmallVector<DimensionClasses::Id> leaves = factoring.classes.leaves(list);
    if (llvm::any_of(leaves, [&](DimensionClasses::Id id) { return classes.contains(id); }))
      dims.push_back(int64_t(dim));
  }
  return dims;
}

SmallVector<int64_t> SampleUse::sampleFactors(Operation *op, const FactorMap &map) const {
  SmallVector<int64_t> found;
  auto add = [&](Value value, ArrayRef<int64_t> factors) {
    for (int64_t dim : dimsOf(value))
      if (factors[dim] != kNoFactor && !llvm::is_contained(found, factors[dim]))
        found.push_back(factors[dim]);
  };
  for (auto [operand, factors] : llvm::zip(op->getOperands(), map.operands))
    add(operand, factors);
  for (auto [result, factors] : llvm::zip(op->getResults(), map.results))
    add(result, factors);
  return found;
}

/// Whether a cell of a result that walks `dims` is computed from one place of the factor alone.
static bool keepsApart(const FactorMap &map, ArrayRef<int64_t> dims, int64_t factor) {
  FactorKind kind = map.factors[factor].kind;
  return llvm::is_contained(dims, factor) &&
         (kind == FactorKind::Parallel || kind == FactorKind::Index || kind == FactorKind::Reduce);
}

bool SampleUse::meetsInSums(Value value) const {
  if (!meets(value))
    return true;
  auto factored = dyn_cast<FactorOpInterface>(value.getDefiningOp());
  if (!factored)
    return false;
  FactorMap map = factored.getFactorMap();
  SmallVector<int64_t> found = sampleFactors(factored, map);
  // With two factors of samples, one sample is compared with another.
  if (found.size() != 1)
    return false;
  const Factor &factor = map.factors[found.front()];
  bool adds = factor.kind == FactorKind::Reduce || (factor.kind == FactorKind::Index && factor.partial);
  return adds && factor.reduction == Reduction::Sum;
}

SampleSource SampleUse::sourceOf(Operation *op) const {
  SampleSource source;
  for (Value operand : op->getOperands()) {
    const SampleSource &from = sources.at(operand);
    source.samples |= from.samples;
    source.trained |= from.trained;
    source.mixes |= from.mixes;
    source.mixesTrained |= from.mixesTrained;
    source.numbered |= from.numbered;
  }
  if (std::optional<StringRef> state = readState(op))
    source.trained = ModuleOp(module).lookupSymbol<StateOp>(*state).getTrainable();
  if (auto factored = dyn_cast<FactorOpInterface>(op); factored && op->getNumOperands() == 0) {
    // Constants that differ from sample to sample, and counts along the batch.
    FactorMap map = factored.getFactorMap();
    auto differs = [&](int64_t factor) { return map.factors[factor].kind != FactorKind::Parallel; };
    source.numbered = llvm::any_of(sampleFactors(op, map), differs);
  }
  return source;
}

bool SampleUse::findMeeting(OpResult result) const {
  Operation *op = result.getOwner();
  if (auto norm = dyn_cast<BatchNormOp>(op); norm && norm.getGroups() % groupCount == 0)
    return false;
  // An operand has a dimension of samples that no dimension of the result is.
  auto hasDim = [&](Value value) { return !dimsOf(value).empty(); };
  if (llvm::any_of(op->getOperands(), hasDim) && !hasDim(result))
    return true;
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored)
    return false;
  FactorMap map = factored.getFactorMap();
  SmallVector<int64_t> found = sampleFactors(op, map);
  // One sample meets another where their dimensions come from two operands.
  auto isMet = [&](Value operand) { return dimsOf(operand).size() > 1; };
  if (found.size() > 1 && llvm::none_of(op->getOperands(), isMet))
    return true;
  return llvm::any_of(found,
                      [&](int64_t factor) { return !keepsApart(map, map.results[result.getResultNumber()], factor); });
}

} // namespace dtcc::graph
