//===- EvaluateUnits.cpp - Shares of buckets in the evaluator
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cells that a reduction leaves undefined become NaN, so that a program which reads them has a wrong result. Cells
// between states stay zero.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/evaluate/RankStorage.h"
#include <algorithm>
#include <limits>

using namespace mlir;

namespace dtcc::spmd {

std::vector<double> RankStorage::wholeBucket(StringRef name, int64_t rank) const {
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

void reduceBucket(RankStorage &storage, ReduceBucketOp op, int64_t slot) {
  const Mesh &mesh = storage.lockStep.mesh;
  auto &stored = storage.buckets[op.getBucket()];
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
  auto &into = storage.buckets[*op.getInto()];
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    for (int64_t i = 0; i < share; ++i)
      into[rank][i] = (slot == 0 && !op.getAgain() ? 0 : into[rank][i]) + stored[rank][shareOf(rank) + i];
    // The gradients become NaN, so that a program that reduces one twice has a wrong result. Cells between gradients
    // stay zero.
    stored[rank].assign(stored[rank].size(), 0);
    for (auto state : storage.module.getOps<graph::StateOp>())
      for (auto [name, begin] : bucketsOf(state))
        if (name == storage.module.lookupSymbol<BucketOp>(op.getBucket()).getOfAttr()) {
          auto type = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue());
          std::fill_n(stored[rank].begin() + begin, localType(type, mesh).getNumElements(),
                      std::numeric_limits<double>::quiet_NaN());
        }
  }
}

static LogicalResult runReduce(ReduceBucketOp op, RankStorage &storage, int64_t slot) {
  if (slot == int64_t(op.getSlot().value_or(slot)))
    reduceBucket(storage, op, slot);
  return success();
}

static LogicalResult runGatherUnit(GatherUnitOp op, RankStorage &storage, int64_t) {
  Shards &units = storage.clear(op.getY());
  storage.forEachRank([&](int64_t rank) { units[rank].floats = storage.wholeBucket(op.getBucket(), rank); });
  return success();
}

static LogicalResult runUnitView(UnitViewOp op, RankStorage &storage, int64_t) {
  storage.clear(op.getY());
  storage.forEachRank([&](int64_t rank) {
    const auto &unit = storage.lockStep.values.at(op.getUnit())[rank].floats;
    HostTensor &part = storage.lockStep.values.at(op.getY())[rank];
    std::copy_n(unit.begin() + op.getOffset(), part.size(), part.floats.begin());
  });
  return success();
}

/// Drops the unit. A later op that reads the unit itself fails; views of the unit are copies in this interpreter.
static LogicalResult runRelease(ReleaseOp op, RankStorage &storage, int64_t) {
  storage.lockStep.values.erase(op.getUnit());
  return success();
}

void addUnitOps(StorageOps &ops) { ops.on(runReduce).on(runGatherUnit).on(runUnitView).on(runRelease); }

} // namespace dtcc::spmd
