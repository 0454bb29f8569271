//===- Projection.cpp - Layouts of operands and results from the axes of factors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/layout/Projection.h"
#include "dialects/graph/Origin.h"
#include "passes/spmd/layout/LocalForms.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>

using namespace mlir;

namespace dtcc::spmd {

Axes Placement::used() const {
  Axes all;
  for (const Axes &axes : factors)
    all.insert(all.end(), axes.begin(), axes.end());
  return all;
}

void Placement::give(size_t factor, const Axes &axes) {
  for (const std::string &axis : axes)
    if (llvm::none_of(factors, [&](const Axes &given) { return contains(given, axis); }))
      factors[factor].push_back(axis);
}

PlannedOp::PlannedOp(Operation *op) : PlannedOp(op, graph::getPhase(op) == graph::Phase::Forward) {}

PlannedOp::PlannedOp(Operation *op, bool isForward) : map(cast<FactorOpInterface>(op).getFactorMap()) {
  sources = isForward ? llvm::to_vector(llvm::seq<int64_t>(0, map.factors.size())) : graph::getOriginFactors(op);
  sources.resize(map.factors.size(), -1);
  for (size_t factor = 0; factor < map.factors.size(); ++factor)
    assignable.push_back(!whyNotAssignable(op, map, factor));
}

std::vector<Axes> PlannedOp::axesFrom(llvm::function_ref<Axes(int64_t)> forward) const {
  std::vector<Axes> axes(map.factors.size());
  for (size_t factor = 0; factor < axes.size(); ++factor)
    if (sources[factor] >= 0 && assignable[factor])
      axes[factor] = forward(sources[factor]);
  return axes;
}

Placement PlannedOp::place(llvm::function_ref<Axes(int64_t)> forward) const {
  Placement placement;
  placement.factors.resize(map.factors.size());
  for (auto [factor, axes] : llvm::enumerate(axesFrom(forward)))
    placement.give(factor, axes);
  return placement;
}

bool isReduction(const Factor &factor) {
  return factor.kind == FactorKind::Reduce || (factor.kind == FactorKind::Index && factor.partial);
}

static Layout projectDims(ArrayRef<int64_t> dims, const Placement &placement) {
  Layout layout;
  for (int64_t factor : dims)
    layout.dims.push_back(factor == kNoFactor ? Axes() : placement.factors[factor]);
  return layout;
}

/// The axes over which an operand arrives in parts that are each shard's own.
static Axes ownAxes(const FactorMap &map, const Placement &placement, unsigned operand) {
  Axes axes;
  for (const FactorMap::OwnPart &part : map.ownParts)
    if (part.operand == operand)
      axes.insert(axes.end(), placement.factors[part.factor].begin(), placement.factors[part.factor].end());
  return axes;
}

llvm::Expected<OpLayouts> project(const FactorMap &map, const Placement &placement) {
  auto fail = [](const Twine &reason) {
    return llvm::createStringError(std::errc::invalid_argument, reason.str().c_str());
  };
  Axes used = placement.used();
  for (size_t i = 0; i < used.size(); ++i)
    if (std::find(used.begin(), used.begin() + i, used[i]) != used.begin() + i)
      return fail("axis stands on two factors: " + used[i]);
  for (const std::string &axis : placement.partial)
    if (contains(used, axis))
      return fail("axis is partial and on a factor: " + axis);
  if (!placement.partial.empty() &&
      (placement.linearSet < 0 || placement.linearSet >= static_cast<int64_t>(map.linear.size())))
    return fail("partial sums cannot pass an op that is not linear in them");

  OpLayouts layouts;
  for (auto [i, dims] : llvm::enumerate(map.operands)) {
    Layout layout = projectDims(dims, placement);
    if (!placement.partial.empty() && llvm::is_contained(map.linear[placement.linearSet], i))
      layout.partial = placement.partial;
    Axes own = ownAxes(map, placement, i);
    layout.partial.insert(layout.partial.end(), own.begin(), own.end());
    llvm::sort(layout.partial);
    layouts.operands.push_back(std::move(layout));
  }
  for (ArrayRef<int64_t> dims : map.results) {
    Layout layout = projectDims(dims, placement);
    layout.partial = placement.partial;
    for (auto [f, factor] : llvm::enumerate(map.factors)) {
      if (placement.factors[f].empty() || llvm::is_contained(dims, static_cast<int64_t>(f)) || !isReduction(factor))
        continue;
      Reduction kind = factor.reduction;
      if (!layout.partial.empty() && layout.reduction != kind)
        return fail("a result would be partial in two ways");
      layout.reduction = kind;
      layout.partial.insert(layout.partial.end(), placement.factors[f].begin(), placement.factors[f].end());
    }
    llvm::sort(layout.partial);
    layouts.results.push_back(std::move(layout));
  }
  return layouts;
}

std::optional<std::string> whyNotAssignable(Operation *op, const FactorMap &map, int64_t factor) {
  switch (map.factors[factor].kind) {
  case FactorKind::Parallel:
  case FactorKind::Reduce:
    return std::nullopt;
  case FactorKind::Replicate:
    return "the op needs it whole";
  case FactorKind::Window:
    return "neighbouring parts overlap";
  case FactorKind::Index:
  case FactorKind::Decompose:
    if (hasLocalForm(op, map, factor))
      return std::nullopt;
    return "the op has no local form for it in this version";
  }
  return std::nullopt;
}

FailureOr<Placement> inferPlacement(Operation *op, const FactorMap &map) {
  Placement placement;
  placement.factors.resize(map.factors.size());
  std::vector<bool> known(map.factors.size());
  auto collect = [&](StringRef what, unsigned number, Type type, ArrayRef<int64_t> dims) -> LogicalResult {
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor)
      return op->emitError() << what << " #" << number << " must be a !spmd.tensor, got: " << type;
    for (auto [dim, factor] : llvm::enumerate(dims)) {
      Axes axes = toAxes(tensor.getAxes()[dim]);
      if (factor == kNoFactor) {
        if (!axes.empty())
          return op->emitError() << what << " #" << number << " dimension " << dim
                                 << " must be whole for this op, got: " << type;
        continue;
      }
      if (known[factor] && placement.factors[factor] != axes)
        return op->emitError() << what << " #" << number << " dimension " << dim
                               << " must lie like the other dimensions of its factor, got: " << type;
      known[factor] = true;
      placement.factors[factor] = axes;
    }
    return success();
  };
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (failed(collect("operand", i, value.getType(), map.operands[i])))
      return failure();
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    if (failed(collect("result", i, value.getType(), map.results[i])))
      return failure();
  for (size_t f = 0; f < map.factors.size(); ++f)
    if (!placement.factors[f].empty())
      if (std::optional<std::string> reason = whyNotAssignable(op, map, f))
        return op->emitError() << "factor " << f << " cannot be split: " << *reason;
  // A partial operand names the linear set; `project` finds out whether all fits.
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    Layout layout = cast<TensorType>(value.getType()).getLayout();
    Axes own = ownAxes(map, placement, i);
    // A reshard makes other parts of a sum than the shards left.
    if (!own.empty() && value.getDefiningOp<ReshardOp>())
      return op->emitError() << "operand #" << i
                             << " must come as the op that computed it left it, got a reshard to: " << value.getType();
    std::erase_if(layout.partial, [&](const std::string &axis) { return contains(own, axis); });
    if (layout.partial.empty())
      continue;
    auto set = llvm::find_if(map.linear, [&, i = i](ArrayRef<unsigned> set) { return llvm::is_contained(set, i); });
    if (set == map.linear.end() || layout.reduction != Reduction::Sum)
      return op->emitError() << "operand #" << i
                             << " must not be partial: the op is not linear in it, got: " << value.getType();
    placement.partial = layout.partial;
    placement.linearSet = set - map.linear.begin();
    break;
  }
  llvm::Expected<OpLayouts> layouts = project(map, placement);
  if (!layouts) {
    return op->emitError() << llvm::toString(layouts.takeError()), failure();
  }
  auto compare = [&](StringRef what, unsigned number, Type type, const Layout &expected) -> LogicalResult {
    Layout layout = cast<TensorType>(type).getLayout();
    if (layout.partial == expected.partial && (layout.partial.empty() || layout.reduction == expected.reduction))
      return success();
    return op->emitError() << what << " #" << number << " must lie as " << expected.str() << ", got: " << type;
  };
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (failed(compare("operand", i, value.getType(), layouts->operands[i])))
      return failure();
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    if (failed(compare("result", i, value.getType(), layouts->results[i])))
      return failure();
  return placement;
}

} // namespace dtcc::spmd
