//===- Activations.cpp - silu, gelu and relu from their formulas
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/Cells.h"
#include "passes/graph/recover/Recover.h"
#include "passes/graph/recover/Region.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace mlir;

namespace dtcc::graph {

namespace {
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// A function of one number and how to build its op. The formulas stand here a second
/// time on purpose: they judge what the file says, not what our op says.
struct Activation {
  double (*function)(double);
  /// How far a formula may be off, over 1 + |x|: constants of the file are rounded to f32 or coarser (0.7979).
  double tolerance;
  Value (*build)(OpBuilder &, Location, Value);
};
constexpr double kRounding = 1e-5;
const Activation activations[] = {
    {[](double x) { return x * logistic(x); }, kRounding,
     [](OpBuilder &b, Location loc, Value x) -> Value { return SiluOp::create(b, loc, x); }},
    {[](double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }, kRounding,
     [](OpBuilder &b, Location loc, Value x) -> Value { return GeluOp::create(b, loc, x, GeluForm::exact); }},
    {[](double x) { return x * logistic(2 * 0.79788456080286536 * (x + 0.044715 * x * x * x)); }, kRounding,
     [](OpBuilder &b, Location loc, Value x) -> Value { return GeluOp::create(b, loc, x, GeluForm::tanh); }},
    // A bound of 1e-12, before a logarithm or a quotient, is not 0.
    {[](double x) { return x > 0 ? x : 0; }, 0,
     [](OpBuilder &b, Location loc, Value x) -> Value { return ReluOp::create(b, loc, x); }},
};
constexpr int kNone = -1;
/// More of its own does no formula have: of a chain of them few regions are looked at.
constexpr int kMostFunctions = 2;

/// Where a region is compared with the activations: where these bend, on both sides of each number of the region, and
/// far out. A bound, as of a ReLU that ends at 20, shows only beyond it.
SmallVector<double> pointsOf(const Region &region) {
  constexpr double kFarthest = 1e30, kStep = 1.7;
  SmallVector<double> points;
  for (int point = 0; point <= 96; ++point)
    points.push_back(-6 + point / 8.0 + 1e-3);
  auto add = [&](double x) {
    if (std::fabs(x) <= kFarthest)
      points.append({x, -x});
  };
  for (double x = 7; x <= kFarthest; x *= kStep)
    add(x);
  for (double number : region.constants())
    for (double x : {number * (1 - 1e-3), number, number * (1 + 1e-3)})
      add(x);
  return points;
}

/// The activation that the region computes at all points, or kNone. Neighbours in the library differ by more than 1e-4
/// of 1 + |x|.
int classify(const Region &region) {
  SmallVector<double> points = pointsOf(region);
  int found = kNone;
  for (int candidate = 0; candidate < static_cast<int>(std::size(activations)); ++candidate) {
    bool equal = true;
    for (double x : points) {
      Cells cells([&](Value value, ArrayRef<int64_t>) {
        return value == region.inputs[0] ? std::optional<double>(x) : std::nullopt;
      });
      std::optional<double> y = cells.at(region.root, Dims(rankOf(region.root), 0));
      const Activation &activation = activations[candidate];
      equal = y && std::fabs(*y - activation.function(x)) <= activation.tolerance * (1 + std::fabs(x));
      if (!equal)
        break;
    }
    if (equal)
      found = candidate;
  }
  return found;
}

/// Whether the region holds ops on single cells alone, so that one cell shows what all compute.
bool isCellwise(const Region &region) {
  return llvm::all_of(region.ops, [](Operation *op) {
    if (isa<ConstantOp>(op))
      return splatValue(op->getResult(0)).has_value();
    return isa<ElementwiseOpInterface>(op) || (isa<BroadcastOp>(op) && splatValue(op->getOperand(0)));
  });
}

bool hasFewFunctions(const Region &region) {
  return llvm::count_if(region.ops, [](Operation *op) { return isa<TanhOp, ErfOp, LogisticOp, ExpOp>(op); }) <=
         kMostFunctions;
}

class ActivationRecovery {
public:
  bool recover(Operation *anchor) {
    for (Value input : ancestors(anchor->getOperand(0), 12)) {
      if (!isFloat(input))
        continue;
      for (Value root : descendants(anchor->getResult(0), 12)) {
        if (root.getType() != input.getType())
          continue;
        std::optional<Region> region = Region::between(input, root, 24);
        if (!region || region->ops.size() < 2 || !region->contains(anchor) || !hasFewFunctions(*region) ||
            !isCellwise(*region) || !region->isClosed())
          continue;
        auto [known, fresh] = meanings.try_emplace(region->signature(), kNone);
        if (fresh)
          known->second = classify(*region);
        if (known->second == kNone)
          continue;
        OpBuilder builder(root.getDefiningOp());
        root.replaceAllUsesWith(activations[known->second].build(builder, root.getLoc(), input));
        return true;
      }
    }
    return false;
  }

private:
  llvm::StringMap<int> meanings;
};
} // namespace

void recoverActivations(func::FuncOp function) {
  SmallVector<Operation *> anchors;
  function.walk([&](Operation *op) {
    if (isa<TanhOp, ErfOp, LogisticOp, ExpOp, MaxOp, CompareOp>(op))
      anchors.push_back(op);
  });
  ActivationRecovery recovery;
  // A region that was replaced is dead but still there until the end.
  for (Operation *anchor : anchors)
    if (!anchor->use_empty())
      recovery.recover(anchor);
}

} // namespace dtcc::graph
