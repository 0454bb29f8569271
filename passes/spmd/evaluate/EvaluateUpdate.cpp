//===- EvaluateUpdate.cpp - The end of a step in the evaluator
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops of UpdateOps.td. Reports must be the same on all ranks.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/StateUpdate.h"
#include "passes/graph/Evaluator.h"
#include "passes/spmd/evaluate/RankStorage.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace dtcc::spmd {

namespace {
struct CellSettings {
  double rate = 0, decay = 0;
};
} // namespace

/// Learning rate and weight decay of each element of a parameter bucket.
static std::vector<CellSettings> settingsOf(const RankStorage &storage, FlatSymbolRefAttr bucket,
                                            graph::OptimizerAttrInterface optimizer) {
  std::vector<CellSettings> result(storage.module.lookupSymbol<BucketOp>(bucket.getAttr()).getLength());
  for (auto state : storage.module.getOps<graph::StateOp>()) {
    auto [name, offset] = storage.placeOf(state);
    if (name != bucket)
      continue;
    auto type = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue());
    int64_t size = localType(type, storage.lockStep.mesh).getNumElements();
    graph::StateUpdate update = graph::updateOf(state, optimizer);
    std::fill_n(result.begin() + offset, size, CellSettings{update.rate, update.decay});
  }
  return result;
}

static LogicalResult runUpdate(UpdateBucketOp op, RankStorage &storage, int64_t) {
  const Mesh &mesh = storage.lockStep.mesh;
  Axes flat = toAxes(op.getFlat());
  auto optimizer = cast<graph::OptimizerAttrInterface>(op.getOptimizer());
  bool isShare = !storage.module.lookupSymbol<BucketOp>(op.getBucket()).getFlat().empty();
  std::vector<CellSettings> settings = settingsOf(storage, op.getBucketAttr(), optimizer);
  auto slot = [&](unsigned i, int64_t rank) -> std::vector<double> & {
    return storage.buckets[cast<FlatSymbolRefAttr>(op.getSlots()[i]).getValue()][rank];
  };
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    int64_t number = storage.step;
    if (!op.getGuard().empty()) {
      if (storage.lockStep.values[op.getGuard()[0]][rank].ints[0] == 0)
        continue;
      number = storage.lockStep.values[op.getGuard()[1]][rank].ints[0];
    }
    const std::vector<double> &gradient = storage.lockStep.values[op.getGrad()][rank].floats;
    double scale = storage.lockStep.values[op.getScale()][rank].floats[0];
    int64_t first = mesh.index(rank, 0, flat) * static_cast<int64_t>(gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) {
      SmallVector<double *> cells;
      for (unsigned k = 0; k < op.getSlots().size(); ++k)
        cells.push_back(&slot(k, rank)[i]);
      optimizer.updateCell(gradient[i] * scale, settings[first + i].rate, settings[first + i].decay, number,
                           storage.buckets[op.getBucket()][rank][isShare ? i : first + i], cells,
                           [](double value) { return value; });
    }
    if (!op.getCopy())
      continue;
    const std::vector<double> &values = storage.buckets[op.getBucket()][rank];
    // A rank holds the whole copy, or its shard of it.
    std::vector<double> &copy = storage.buckets[*op.getCopy()][rank];
    std::copy_n(values.begin() + (isShare ? 0 : first), gradient.size(),
                copy.begin() + (copy.size() == gradient.size() ? 0 : first));
  }
  return success();
}

static double scalarOf(RankStorage &storage, Value value, int64_t rank) {
  return storage.lockStep.values[value][rank].floats[0];
}

static LogicalResult runSumSquares(SumSquaresOp op, RankStorage &storage, int64_t) {
  storage.clear(op.getY());
  storage.forEachRank([&](int64_t rank) {
    for (Value x : op.getXs())
      for (double cell : storage.lockStep.values[x][rank].floats)
        storage.lockStep.values[op.getY()][rank].floats[0] += cell * cell;
  });
  return success();
}

static LogicalResult runGradScale(GradScaleOp op, RankStorage &storage, int64_t) {
  for (Value result : op->getResults())
    storage.clear(result);
  auto &values = storage.lockStep.values;
  storage.forEachRank([&](int64_t rank) {
    double lossScale = op.getLossScale() ? scalarOf(storage, op.getLossScale(), rank) : 1;
    lossScale *= op.getUnit().convertToDouble();
    double count = scalarOf(storage, op.getCount(), rank), squares = scalarOf(storage, op.getSquares(), rank);
    double clip = op.getClip().convertToDouble(), norm = std::sqrt(squares) / lossScale / count;
    values[op.getNorm()][rank].floats[0] = norm;
    values[op.getScale()][rank].floats[0] = (clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1) / count / lossScale;
    if (op.getFinite())
      values[op.getFinite()][rank].ints[0] = std::isfinite(squares);
  });
  return success();
}

static LogicalResult runMeanScale(MeanScaleOp op, RankStorage &storage, int64_t) {
  storage.clear(op.getScale());
  storage.forEachRank([&](int64_t rank) {
    double count = scalarOf(storage, op.getCount(), rank);
    bool good = std::isfinite(scalarOf(storage, op.getLossSum(), rank)) && count != 0;
    storage.lockStep.values[op.getScale()][rank].floats[0] = good ? 1 / count : std::nan("");
  });
  return success();
}

static LogicalResult runAdjustLossScale(AdjustLossScaleOp op, RankStorage &storage, int64_t) {
  storage.clear(op.getTaken());
  auto &values = storage.lockStep.values;
  storage.forEachRank([&](int64_t rank) {
    std::vector<double> &cells = storage.buckets[op.getBucket()][rank];
    auto cell = [&](unsigned i) -> double & { return cells[op.getOffsets()[i]]; };
    graph::LossScaleState state{cell(0), cell(1), cell(2)};
    values[op.getTaken()][rank].ints[0] = storage.step - static_cast<int64_t>(state.skipped);
    state.adjust(values[op.getFinite()][rank].ints[0] != 0, op.getGrowth().convertToDouble(),
                 op.getBackoff().convertToDouble(), op.getInterval());
  });
  return success();
}

static LogicalResult runAverage(AverageBucketOp op, RankStorage &storage, int64_t) {
  double weight = storage.step == 1 ? 1 : 1 - op.getDecay().convertToDouble();
  storage.forEachRank([&](int64_t rank) {
    const std::vector<double> &values = storage.buckets[op.getBucket()][rank];
    std::vector<double> &averages = storage.buckets[op.getAverage()][rank];
    // A rank holds the whole bucket, or its shard of it.
    bool isShard = values.size() == averages.size();
    size_t first = isShard ? 0 : storage.lockStep.mesh.index(rank, 0, toAxes(op.getFlat())) * averages.size();
    for (size_t i = 0; i < averages.size(); ++i)
      averages[i] += (values[first + i] - averages[i]) * weight;
  });
  return success();
}

static LogicalResult runGather(GatherBucketOp op, RankStorage &storage, int64_t) {
  const Mesh &mesh = storage.lockStep.mesh;
  auto before = storage.buckets[op.getBucket()];
  Axes axes = toAxes(op.getAxes());
  storage.forEachRank([&](int64_t rank) {
    std::vector<double> &stored = storage.buckets[op.getBucket()][rank];
    int64_t share = stored.size() / mesh.product(axes);
    for (auto [i, member] : llvm::enumerate(mesh.group(rank, axes)))
      std::copy_n(before[member].begin() + i * share, share, stored.begin() + i * share);
  });
  return success();
}

static LogicalResult runReport(ReportOp op, RankStorage &storage, int64_t) {
  RankStorage::Report &report = storage.report;
  bool evaluates = isOfEvaluation(op->getParentOfType<PhaseOp>().getSymName());
  for (auto [value, field] :
       {std::pair<Value, double *>{op.getLossSum(), evaluates ? &report.evaluatedSum : &report.lossSum},
        {op.getCount(), evaluates ? &report.evaluatedCount : &report.count},
        {op.getGradNorm(), &report.gradNorm}}) {
    if (!value)
      continue;
    *field = scalarOf(storage, value, 0);
    for (int64_t rank = 1; rank < storage.lockStep.mesh.ranks(); ++rank)
      if (double other = scalarOf(storage, value, rank); other != *field)
        return op->emitError("ranks must report the same, got ") << *field << " and " << other;
  }
  if (!op.getPrediction())
    return success();
  const Shards &all = storage.lockStep.values[op.getPrediction()];
  report.prediction = all.front().floats;
  for (const HostTensor &other : all)
    if (other.floats != report.prediction)
      return op->emitError("ranks must report the same prediction");
  return success();
}

void addUpdateOps(StorageOps &ops) {
  ops.on(runSumSquares)
      .on(runGradScale)
      .on(runMeanScale)
      .on(runAdjustLossScale)
      .on(runUpdate)
      .on(runGather)
      .on(runReport)
      .on(runAverage);
}

} // namespace dtcc::spmd
