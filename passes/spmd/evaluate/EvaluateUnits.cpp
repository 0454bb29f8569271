//===- EvaluateUnits.cpp - Shares of buckets in the evaluator
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cells that a reduction leaves undefined become NaN: who reads them is found out. Cells
// between states stay zero.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/evaluate/Evaluator.h"
#include <limits>

using namespace mlir;

namespace dtcc::spmd {

std::vector<double> ProgramEvaluator::wholeBucket(StringRef name, int64_t rank) const {
  auto bucket = module.lookupSymbol<BucketOp>(name);
  const auto &stored = buckets.find(name)->second;
  Axes flat = toAxes(bucket.getFlat());
  if (flat.empty())
    return stored[rank];
  std::vector<double> whole;
  for (int64_t member : lockStep.mesh.group(rank, flat))
    whole.insert(whole.end(), stored[member].begin(), stored[member].end());
  return whole;
}

void ProgramEvaluator::reduceBucket(ReduceBucketOp op, int64_t slot) {
  const Mesh &mesh = lockStep.mesh;
  auto &stored = buckets[op.getBucket()];
  Axes scatter = toAxes(op.getScatter());
  int64_t share = stored.front().size() / mesh.product(scatter);
  auto sumOver = [&](const Axes &axes, auto firstOf) {
    auto before = stored;
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      int64_t first = firstOf(rank);
      for (int64_t i = 0; i < share; ++i) {
        double sum = 0;
        for (int64_t member : mesh.group(rank, axes))
          sum += before[member][first + i];
        stored[rank][first + i] = sum;
      }
    }
  };
  auto shareOf = [&](int64_t rank) { return mesh.index(rank, 0, scatter) * share; };
  if (!scatter.empty()) {
    sumOver(scatter, shareOf);
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
      for (int64_t i = 0, first = shareOf(rank); i < static_cast<int64_t>(stored[rank].size()); ++i)
        if ((i < first || i >= first + share) && stored[rank][i] != 0)
          stored[rank][i] = std::numeric_limits<double>::quiet_NaN();
  }
  if (!op.getSum().empty())
    sumOver(toAxes(op.getSum()), shareOf);
  if (!op.getInto())
    return;
  auto &into = buckets[*op.getInto()];
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    for (int64_t i = 0; i < share; ++i)
      into[rank][i] = (slot == 0 && !op.getAgain() ? 0 : into[rank][i]) + stored[rank][shareOf(rank) + i];
    // Clear the bucket, so that a gradient that is not written again before the next reduction is found out. Cells
    // between gradients stay zero.
    stored[rank].assign(stored[rank].size(), 0);
    for (auto state : module.getOps<graph::StateOp>())
      for (auto [name, begin] : bucketsOf(state))
        if (name == module.lookupSymbol<BucketOp>(op.getBucket()).getOfAttr()) {
          auto type = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue());
          std::fill_n(stored[rank].begin() + begin, localType(type, mesh).getNumElements(),
                      std::numeric_limits<double>::quiet_NaN());
        }
  }
}

bool ProgramEvaluator::runUnitOp(Operation *op, int64_t slot) {
  if (auto reduce = dyn_cast<ReduceBucketOp>(op)) {
    if (slot == int64_t(reduce.getSlot().value_or(slot)))
      reduceBucket(reduce, slot);
    return true;
  }
  auto empty = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return HostTensor(type.getShape(), type.getElementType());
  };
  if (auto gather = dyn_cast<GatherUnitOp>(op)) {
    Shards &units = lockStep.values[gather.getY()];
    units.assign(lockStep.mesh.ranks(), empty(gather.getY()));
    for (int64_t rank = 0; rank < lockStep.mesh.ranks(); ++rank)
      units[rank].floats = wholeBucket(gather.getBucket(), rank);
    return true;
  }
  if (auto view = dyn_cast<UnitViewOp>(op)) {
    Shards parts(lockStep.mesh.ranks(), empty(view.getY()));
    for (int64_t rank = 0; rank < lockStep.mesh.ranks(); ++rank) {
      const auto &unit = lockStep.values.at(view.getUnit())[rank].floats;
      std::copy_n(unit.begin() + view.getOffset(), parts[rank].size(), parts[rank].floats.begin());
    }
    lockStep.values[view.getY()] = std::move(parts);
    return true;
  }
  if (auto release = dyn_cast<ReleaseOp>(op)) {
    // Only later readers of the unit itself are found out, because readers of its views hold copies here.
    lockStep.values.erase(release.getUnit());
    return true;
  }
  return false;
}

} // namespace dtcc::spmd
