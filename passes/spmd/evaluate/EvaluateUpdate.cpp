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

#include "passes/graph/Evaluator.h"
#include "passes/spmd/evaluate/Evaluator.h"
#include <cmath>

using namespace mlir;

namespace dtcc::spmd {

/// Weight decay of each element of a parameter bucket.
std::vector<double> ProgramEvaluator::decayOf(FlatSymbolRefAttr bucket, double decay) const {
  std::vector<double> result(module.lookupSymbol<BucketOp>(bucket.getAttr()).getLength());
  for (auto state : module.getOps<graph::StateOp>()) {
    auto [name, offset] = placeOf(state);
    if (name != bucket || !state.getDecay())
      continue;
    auto type = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue());
    int64_t size = localType(type, lockStep.mesh).getNumElements();
    std::fill_n(result.begin() + offset, size, decay);
  }
  return result;
}

void ProgramEvaluator::update(UpdateBucketOp op) {
  const Mesh &mesh = lockStep.mesh;
  Axes flat = toAxes(op.getFlat());
  auto optimizer = cast<graph::OptimizerAttrInterface>(op.getOptimizer());
  bool isShare = !module.lookupSymbol<BucketOp>(op.getBucket()).getFlat().empty();
  std::vector<double> decay = decayOf(op.getBucketAttr(), optimizer.getDecay());
  auto slot = [&](unsigned i, int64_t rank) -> std::vector<double> & {
    return buckets[cast<FlatSymbolRefAttr>(op.getSlots()[i]).getValue()][rank];
  };
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    int64_t number = step;
    if (!op.getGuard().empty()) {
      if (lockStep.values[op.getGuard()[0]][rank].ints[0] == 0)
        continue;
      number = lockStep.values[op.getGuard()[1]][rank].ints[0];
    }
    const std::vector<double> &gradient = lockStep.values[op.getGrad()][rank].floats;
    double scale = lockStep.values[op.getScale()][rank].floats[0];
    int64_t first = mesh.index(rank, 0, flat) * static_cast<int64_t>(gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) {
      SmallVector<double *> cells;
      for (unsigned k = 0; k < op.getSlots().size(); ++k)
        cells.push_back(&slot(k, rank)[i]);
      optimizer.updateCell(gradient[i] * scale, decay[first + i], number,
                           buckets[op.getBucket()][rank][isShare ? i : first + i], cells,
                           [](double value) { return value; });
    }
    if (!op.getCopy())
      continue;
    const std::vector<double> &values = buckets[op.getBucket()][rank];
    // A rank holds the whole copy, or its shard of it.
    std::vector<double> &copy = buckets[*op.getCopy()][rank];
    std::copy_n(values.begin() + (isShare ? 0 : first), gradient.size(),
                copy.begin() + (copy.size() == gradient.size() ? 0 : first));
  }
}

FailureOr<bool> ProgramEvaluator::runUpdateOp(Operation *op) {
  const Mesh &mesh = lockStep.mesh;
  auto each = [&](llvm::function_ref<void(int64_t)> body) {
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
      body(rank);
  };
  auto scalar = [&](Value value, int64_t rank) { return lockStep.values[value][rank].floats[0]; };
  auto empty = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return HostTensor(type.getShape(), type.getElementType());
  };
  if (auto squares = dyn_cast<SumSquaresOp>(op)) {
    lockStep.values[squares.getY()].assign(mesh.ranks(), empty(squares.getY()));
    each([&](int64_t rank) {
      for (Value x : squares.getXs())
        for (double cell : lockStep.values[x][rank].floats)
          lockStep.values[squares.getY()][rank].floats[0] += cell * cell;
    });
    return true;
  }
  if (auto scale = dyn_cast<GradScaleOp>(op)) {
    for (Value result : scale->getResults())
      lockStep.values[result].assign(mesh.ranks(), empty(result));
    each([&](int64_t rank) {
      double lossScale = scale.getLossScale() ? scalar(scale.getLossScale(), rank) : 1;
      lossScale *= scale.getUnit().convertToDouble();
      double count = scalar(scale.getCount(), rank), squares = scalar(scale.getSquares(), rank);
      double clip = scale.getClip().convertToDouble(), norm = std::sqrt(squares) / lossScale / count;
      lockStep.values[scale.getNorm()][rank].floats[0] = norm;
      lockStep.values[scale.getScale()][rank].floats[0] =
          (clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1) / count / lossScale;
      if (scale.getFinite())
        lockStep.values[scale.getFinite()][rank].ints[0] = std::isfinite(squares);
    });
    return true;
  }
  if (auto adjust = dyn_cast<AdjustLossScaleOp>(op)) {
    lockStep.values[adjust.getTaken()].assign(mesh.ranks(), empty(adjust.getTaken()));
    each([&](int64_t rank) {
      std::vector<double> &cells = buckets[adjust.getBucket()][rank];
      auto cell = [&](unsigned i) -> double & { return cells[adjust.getOffsets()[i]]; };
      graph::LossScaleState state{cell(0), cell(1), cell(2)};
      lockStep.values[adjust.getTaken()][rank].ints[0] = step - static_cast<int64_t>(state.skipped);
      state.adjust(lockStep.values[adjust.getFinite()][rank].ints[0] != 0, adjust.getGrowth().convertToDouble(),
                   adjust.getBackoff().convertToDouble(), adjust.getInterval());
    });
    return true;
  }
  if (auto updateOp = dyn_cast<UpdateBucketOp>(op)) {
    update(updateOp);
    return true;
  }
  if (auto gatherOp = dyn_cast<GatherBucketOp>(op)) {
    auto before = buckets[gatherOp.getBucket()];
    Axes axes = toAxes(gatherOp.getAxes());
    each([&](int64_t rank) {
      std::vector<double> &stored = buckets[gatherOp.getBucket()][rank];
      int64_t share = stored.size() / mesh.product(axes);
      for (auto [i, member] : llvm::enumerate(mesh.group(rank, axes)))
        std::copy_n(before[member].begin() + i * share, share, stored.begin() + i * share);
    });
    return true;
  }
  if (auto reportOp = dyn_cast<ReportOp>(op)) {
    for (auto [value, field] : {std::pair<Value, double *>{reportOp.getLossSum(), &report.lossSum},
                                {reportOp.getCount(), &report.count},
                                {reportOp.getGradNorm(), &report.gradNorm}}) {
      if (!value)
        continue;
      *field = scalar(value, 0);
      for (int64_t rank = 1; rank < mesh.ranks(); ++rank)
        if (scalar(value, rank) != *field)
          return op->emitError("ranks must report the same, got ") << *field << " and " << scalar(value, rank);
    }
    return true;
  }
  return false;
}

} // namespace dtcc::spmd
