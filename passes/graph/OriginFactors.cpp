//===- OriginFactors.cpp - Which forward factor a backward factor walks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/OriginFactors.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <vector>

using namespace mlir;

namespace dtcc::graph {

namespace {
using Labels = SmallVector<int64_t>;

class Tracker {
public:
  void know(Value value, ArrayRef<int64_t> labels) {
    auto [entry, added] = known.try_emplace(value, labels.begin(), labels.end());
    // One value that stands twice in the op, in different roles, says nothing.
    if (!added && ArrayRef<int64_t>(entry->second) != labels)
      ambiguous.insert(value);
  }
  void forget() {
    for (Value value : ambiguous)
      known[value].assign(known[value].size(), kNoFactor);
    fixed = ambiguous;
  }

  /// Moves labels between the factors of a built op and its values.
  bool flow(const FactorMap &map, ValueRange operands, ValueRange results, Labels &factors) {
    bool changed = false;
    auto meet = [&](Value value, ArrayRef<int64_t> dims) {
      Labels &labels = known.try_emplace(value, dims.size(), kNoFactor).first->second;
      for (auto [label, factor] : llvm::zip_equal(labels, dims)) {
        if (factor == kNoFactor)
          continue;
        if (factors[factor] == kNoFactor && label != kNoFactor) {
          factors[factor] = label;
          changed = true;
        } else if (label == kNoFactor && factors[factor] != kNoFactor && !fixed.contains(value)) {
          label = factors[factor];
          changed = true;
        }
      }
    };
    for (auto [value, dims] : llvm::zip_equal(operands, map.operands))
      meet(value, dims);
    for (auto [value, dims] : llvm::zip_equal(results, map.results))
      meet(value, dims);
    return changed;
  }

private:
  llvm::DenseMap<Value, Labels> known;
  llvm::DenseSet<Value> ambiguous, fixed;
};
} // namespace

/// Sets the origin factors of `built`: labels flow from the values that are known.
static void labelBuilt(Tracker &tracker, ArrayRef<Operation *> built) {
  std::vector<FactorMap> maps;
  std::vector<Labels> factors;
  for (Operation *created : built) {
    maps.push_back(cast<FactorOpInterface>(created).getFactorMap());
    factors.push_back(Labels(maps.back().factors.size(), kNoFactor));
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto [i, created] : llvm::enumerate(built))
      changed |= tracker.flow(maps[i], created->getOperands(), created->getResults(), factors[i]);
  }
  for (auto [i, created] : llvm::enumerate(built))
    setOriginFactors(created, factors[i]);
}

void trackOriginFactors(Operation *op, ArrayRef<Value> resultGrads, ArrayRef<Value> operandGrads,
                        ArrayRef<Operation *> built) {
  FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
  Tracker tracker;
  for (auto [value, labels] : llvm::zip_equal(op->getOperands(), map.operands))
    tracker.know(value, labels);
  for (auto [i, labels] : llvm::enumerate(map.results)) {
    tracker.know(op->getResult(i), labels);
    if (resultGrads[i])
      tracker.know(resultGrads[i], labels);
  }
  for (auto [gradient, labels] : llvm::zip_equal(operandGrads, map.operands))
    if (gradient && llvm::is_contained(built, gradient.getDefiningOp()))
      tracker.know(gradient, labels);
  tracker.forget();
  labelBuilt(tracker, built);
}

void trackFactorsOf(Operation *op, ArrayRef<Value> operands, ArrayRef<Value> results, ArrayRef<Operation *> built) {
  FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
  Tracker tracker;
  for (auto [value, labels] : llvm::zip_equal(operands, map.operands))
    tracker.know(value, labels);
  for (auto [value, labels] : llvm::zip_equal(results, map.results))
    if (value)
      tracker.know(value, labels);
  tracker.forget();
  labelBuilt(tracker, built);
}

} // namespace dtcc::graph
