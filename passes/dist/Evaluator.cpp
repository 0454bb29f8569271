//===- Evaluator.cpp - Runs the program of a rank for all ranks at once
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/Evaluator.h"
#include <cmath>

using namespace mlir;

namespace dtcc::dist {

ProgramEvaluator::ProgramEvaluator(ModuleOp module, ProgramOp program, uint64_t seed)
    : module(module), program(program), lockStep(*findMesh(&program.getBody().front().front()), seed) {
  for (auto bucket : module.getOps<BucketOp>()) {
    int64_t length = bucket.getLength() / lockStep.mesh.product(toAxes(bucket.getFlat()));
    buckets[bucket.getSymName()].assign(lockStep.mesh.ranks(), std::vector<double>(length));
  }
}

LogicalResult ProgramEvaluator::initialize(const llvm::StringMap<HostTensor> &states) {
  for (auto state : module.getOps<graph::StateOp>()) {
    auto value = states.find(state.getSymName());
    if (value == states.end())
      return state.emitError("has no initial value");
    auto layout = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue()).getLayout();
    int64_t offset = state->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt();
    auto &stored = buckets[state->getAttrOfType<FlatSymbolRefAttr>(kBucketAttr).getValue()];
    Shards parts = scatter(value->second, layout, lockStep.mesh, /*padding=*/0, /*seed=*/0);
    auto bucket = module.lookupSymbol<BucketOp>(state->getAttrOfType<FlatSymbolRefAttr>(kBucketAttr).getValue());
    for (int64_t rank = 0; rank < lockStep.mesh.ranks(); ++rank) {
      int64_t size = stored[rank].size(), first = lockStep.mesh.index(rank, 0, toAxes(bucket.getFlat())) * size;
      for (int64_t i = 0; i < parts[rank].size(); ++i)
        if (int64_t at = offset + i - first; at >= 0 && at < size)
          stored[rank][at] = parts[rank].isFloat() ? parts[rank].floats[i] : parts[rank].ints[i];
    }
  }
  return success();
}

FailureOr<llvm::StringMap<HostTensor>> ProgramEvaluator::states() const {
  llvm::StringMap<HostTensor> result;
  const Mesh &mesh = lockStep.mesh;
  for (auto state : module.getOps<graph::StateOp>()) {
    auto type = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue());
    int64_t offset = state->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt();
    StringRef name = state->getAttrOfType<FlatSymbolRefAttr>(kBucketAttr).getValue();
    RankedTensorType local = localType(type, mesh);
    Shards parts;
    // States do not differ between micro-batches: every slot sees the same.
    for (int64_t position = 0; position < mesh.ranks() * mesh.slots(); ++position) {
      HostTensor part(local.getShape(), type.getElementType());
      std::vector<double> bucket = wholeBucket(name, position % mesh.ranks());
      for (int64_t i = 0; i < part.size(); ++i)
        if (part.isFloat())
          part.floats[i] = bucket[offset + i];
        else
          part.ints[i] = static_cast<int64_t>(bucket[offset + i]);
      parts.push_back(std::move(part));
    }
    llvm::Expected<HostTensor> whole = gather(parts, type.getLayout(), mesh, type.getShape());
    if (!whole)
      return state.emitError(llvm::toString(whole.takeError()));
    // Scattering it again must give the same: padding is zero.
    Shards expected = scatter(*whole, type.getLayout(), mesh, /*padding=*/0, /*seed=*/0);
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].floats != expected[i].floats || parts[i].ints != expected[i].ints)
        return state.emitError("has padded cells that are not zero");
    result[state.getSymName()] = std::move(*whole);
  }
  return result;
}

/// Per element of a parameter bucket its weight decay.
std::vector<double> ProgramEvaluator::decayOf(FlatSymbolRefAttr bucket, double decay) const {
  std::vector<double> result(module.lookupSymbol<BucketOp>(bucket.getAttr()).getLength());
  for (auto state : module.getOps<graph::StateOp>()) {
    if (state->getAttr(kBucketAttr) != bucket || !state.getDecay())
      continue;
    auto type = cast<TensorType>(state->getAttrOfType<TypeAttr>(kLayoutAttr).getValue());
    int64_t offset = state->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt();
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
    const std::vector<double> &gradient = lockStep.values[op.getGrad()][rank].floats;
    double scale = lockStep.values[op.getScale()][rank].floats[0];
    int64_t first = mesh.index(rank, 0, flat) * static_cast<int64_t>(gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) {
      SmallVector<double *> cells;
      for (unsigned k = 0; k < op.getSlots().size(); ++k)
        cells.push_back(&slot(k, rank)[i]);
      optimizer.updateCell(gradient[i] * scale, decay[first + i], step,
                           buckets[op.getBucket()][rank][isShare ? i : first + i], cells,
                           [](double value) { return value; });
    }
  }
}

LogicalResult ProgramEvaluator::runOp(Operation *op, int64_t slot, const llvm::StringMap<HostTensor> &inputs) {
  const Mesh &mesh = lockStep.mesh;
  auto each = [&](llvm::function_ref<void(int64_t)> body) {
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
      body(rank);
    return success();
  };
  auto scalar = [&](Value value, int64_t rank) { return lockStep.values[value][rank].floats[0]; };
  auto empty = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return HostTensor(type.getShape(), type.getElementType());
  };
  if (auto input = dyn_cast<InputOp>(op)) {
    auto whole = inputs.find(input.getName());
    if (whole == inputs.end())
      return op->emitError("has no value");
    Shards parts = scatter(whole->second, cast<TensorType>(input.getLayout()).getLayout(), mesh, 0, 0);
    lockStep.values[input.getY()].assign(parts.begin() + slot * mesh.ranks(),
                                         parts.begin() + (slot + 1) * mesh.ranks());
    return success();
  }
  if (auto view = dyn_cast<ViewOp>(op)) {
    lockStep.values[view.getY()].assign(mesh.ranks(), empty(view.getY()));
    return each([&](int64_t rank) {
      HostTensor &y = lockStep.values[view.getY()][rank];
      const std::vector<double> &stored = buckets[view.getBucket()][rank];
      for (int64_t i = 0; i < y.size(); ++i)
        if (y.isFloat())
          y.floats[i] = stored[view.getOffset() + i];
        else
          y.ints[i] = static_cast<int64_t>(stored[view.getOffset() + i]);
    });
  }
  if (auto store = dyn_cast<StoreOp>(op))
    return each([&](int64_t rank) {
      const HostTensor &x = lockStep.values[store.getX()][rank];
      for (int64_t i = 0; i < x.size(); ++i)
        buckets[store.getBucket()][rank][store.getOffset() + i] = x.isFloat() ? x.floats[i] : x.ints[i];
    });
  if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
    auto bucket = module.lookupSymbol<BucketOp>(accumulate.getBucket());
    bool overwrites = !accumulate.getAgain() && (slot == 0 || bucket.getRole() == BucketRole::Transient);
    return each([&](int64_t rank) {
      const HostTensor &x = lockStep.values[accumulate.getX()][rank];
      for (int64_t i = 0; i < x.size(); ++i) {
        double &cell = buckets[accumulate.getBucket()][rank][accumulate.getOffset() + i];
        cell = (overwrites ? 0 : cell) + x.floats[i];
      }
    });
  }
  if (auto squares = dyn_cast<SumSquaresOp>(op)) {
    lockStep.values[squares.getY()].assign(mesh.ranks(), empty(squares.getY()));
    return each([&](int64_t rank) {
      for (Value x : squares.getXs())
        for (double cell : lockStep.values[x][rank].floats)
          lockStep.values[squares.getY()][rank].floats[0] += cell * cell;
    });
  }
  if (auto scale = dyn_cast<GradScaleOp>(op)) {
    lockStep.values[scale.getNorm()].assign(mesh.ranks(), empty(scale.getNorm()));
    lockStep.values[scale.getScale()].assign(mesh.ranks(), empty(scale.getScale()));
    return each([&](int64_t rank) {
      double count = scalar(scale.getCount(), rank), norm = std::sqrt(scalar(scale.getSquares(), rank)) / count;
      double clip = scale.getClip().convertToDouble();
      lockStep.values[scale.getNorm()][rank].floats[0] = norm;
      lockStep.values[scale.getScale()][rank].floats[0] = (clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1) / count;
    });
  }
  if (auto updateOp = dyn_cast<UpdateBucketOp>(op)) {
    update(updateOp);
    return success();
  }
  if (auto gatherOp = dyn_cast<GatherBucketOp>(op)) {
    auto before = buckets[gatherOp.getBucket()];
    Axes axes = toAxes(gatherOp.getAxes());
    return each([&](int64_t rank) {
      std::vector<double> &stored = buckets[gatherOp.getBucket()][rank];
      int64_t share = stored.size() / mesh.product(axes);
      for (auto [i, member] : llvm::enumerate(mesh.group(rank, axes)))
        std::copy_n(before[member].begin() + i * share, share, stored.begin() + i * share);
    });
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
    return success();
  }
  if (runUnitOp(op, slot))
    return success();
  return lockStep.run(op, slot, step);
}

LogicalResult ProgramEvaluator::runPhase(PhaseOp phase, const llvm::StringMap<HostTensor> &inputs) {
  for (int64_t slot = 0; slot < static_cast<int64_t>(phase.getRepeat()); ++slot)
    for (Operation &op : phase.getBody().front()) {
      if (auto yield = dyn_cast<YieldOp>(op)) {
        for (auto [result, value] : llvm::zip_equal(phase.getResults(), yield.getValues()))
          lockStep.values[result] = lockStep.values.at(value);
        continue;
      }
      if (failed(runOp(&op, slot, inputs)))
        return failure();
    }
  return success();
}

FailureOr<ProgramEvaluator::Report> ProgramEvaluator::run(const llvm::StringMap<HostTensor> &inputs) {
  for (auto phase : program.getBody().getOps<PhaseOp>())
    if (failed(runPhase(phase, inputs)))
      return failure();
  ++step;
  return report;
}

} // namespace dtcc::dist
