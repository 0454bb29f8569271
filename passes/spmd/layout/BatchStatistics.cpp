//===- BatchStatistics.cpp - Batch normalisation on the samples of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics are taken in two passes on a rank, mean and then squares of the distances
// (M2), and merged over ranks with equal counts n by the formula of Chan, Golub and
// LeVeque (1979): M2 = sum of M2_i + n * sum of (mean_i - mean)^2.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/layout/BatchStatistics.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include "dialects/interfaces/OpTable.h"

using namespace mlir;

namespace dtcc::spmd {

using graph::Build;
using graph::Dims;

namespace {
/// The factors over which an op takes statistics, the samples first.
struct Statistics {
  Dims factors;
  int64_t groups = 1;
  /// The groups must be the micro-batches.
  bool running = false;
  const char *name = "batch statistics";
};

/// The axes of the statistics' factors: those that tell groups apart, and those that share one.
struct GroupAxes {
  Axes apart, shared;
};
} // namespace

static Statistics ofNorm(graph::BatchNormOp op, const FactorMap &map) {
  return {graph::at(map.operands[0], op.getDims()), static_cast<int64_t>(op.getGroups())};
}
static Statistics ofGrad(graph::BatchNormGradOp op, const FactorMap &map) {
  return {graph::at(map.operands[1], op.getDims()), static_cast<int64_t>(op.getGroups())};
}
static Statistics ofRunning(graph::RunningStatisticsOp op, const FactorMap &map) {
  return {{map.operands[2][0]}, static_cast<int64_t>(op.getGroups()), true};
}

static Statistics ofSum(graph::GroupSumOp op, const FactorMap &map) {
  return {{map.operands[0][0]}, static_cast<int64_t>(op.getGroups()), false, "means of a loss"};
}

/// Nothing: the op takes no statistics.
static std::optional<Statistics> statisticsOf(Operation *op, const FactorMap &map) {
  static const auto table = OpTable<Statistics, const FactorMap &>().on(ofNorm).on(ofGrad).on(ofRunning).on(ofSum);
  return table(op, map);
}

/// The outermost axes of the samples make the groups. Nothing if they do not make that many.
static std::optional<GroupAxes> groupAxes(const Statistics &statistics, const Placement &placement,
                                          llvm::function_ref<int64_t(const std::string &)> sizeOf) {
  GroupAxes axes;
  int64_t made = 1;
  for (int64_t factor : statistics.factors)
    for (const std::string &axis : placement.factors[factor]) {
      bool apart = factor == statistics.factors.front() && made < statistics.groups;
      (apart ? axes.apart : axes.shared).push_back(axis);
      if (apart)
        made *= sizeOf(axis);
    }
  if (made != statistics.groups)
    return std::nullopt;
  return axes;
}

std::optional<std::string> whyNotGrouped(Operation *op, const FactorMap &map, const Placement &placement,
                                         const Mesh &mesh) {
  std::optional<Statistics> statistics = statisticsOf(op, map);
  if (!statistics)
    return std::nullopt;
  auto axes = groupAxes(*statistics, placement, [&](const std::string &axis) { return mesh.product({axis}); });
  auto time = [&](const std::string &axis) { return mesh.isTime(axis); };
  bool legal = axes && llvm::none_of(axes->shared, time) && (!statistics->running || llvm::all_of(axes->apart, time));
  if (legal)
    return std::nullopt;
  std::string split;
  for (const std::string &axis : placement.factors[statistics->factors.front()])
    split += (split.empty() ? "" : ", ") + axis + "=" + std::to_string(mesh.product({axis}));
  return std::string(statistics->name) + " of " + std::to_string(statistics->groups) +
         (statistics->groups == 1 ? " group" : " groups") + " cannot be taken where the samples are split by {" +
         split +
         "}: each micro-batch has its own, and with another number of them another model is trained; "
         "compile with that --microbatches";
}

namespace {
/// The local computation of one op.
class Emitter {
public:
  Emitter(OpBuilder &builder, Operation *op, const FactorMap &map, const Placement &placement)
      : b(builder, op->getLoc()) {
    std::optional<Statistics> statistics = statisticsOf(op, map);
    if (!statistics)
      return;
    FailureOr<Mesh> mesh = findMesh(builder.getInsertionBlock()->getParentOp());
    mergeAxes =
        groupAxes(*statistics, placement, [&](const std::string &axis) { return mesh->product({axis}); })->shared;
    ranks = mergeAxes.empty() ? 1 : mesh->product(mergeAxes);
  }

  /// The sum over the ranks that share a group.
  Value merged(Value x) const {
    if (mergeAxes.empty())
      return x;
    return AllReduceOp::create(b.builder, b.loc, x.getType(), Reduction::Sum, x,
                               fromAxes(b.builder.getContext(), mergeAxes));
  }
  /// Two such sums by one exchange.
  std::pair<Value, Value> mergedPair(Value x, Value y) const {
    if (mergeAxes.empty())
      return {x, y};
    SmallVector<int64_t> shape{2};
    llvm::append_range(shape, graph::shapeOf(x));
    Value both = graph::StackOp::create(b.builder, b.loc, graph::withShape(x.getType(), shape), ValueRange{x, y}, 0);
    auto parts = graph::UnstackOp::create(b.builder, b.loc, TypeRange{x.getType(), y.getType()}, merged(both), 0);
    return {parts.getResult(0), parts.getResult(1)};
  }
  /// Divides by the count, which f32 represents exactly, because its reciprocal would be rounded. Some gradients are
  /// differences of such averages, and an optimizer like Adam would amplify the rounding to a step.
  Value average(Value sum, double count) const { return count == 1 ? sum : b.div(sum, b.splat(sum, count)); }
  /// Widens halves: statistics are computed, and cells normalised, in f32.
  Value wide(Value x) const { return graph::isHalf(x) ? b.cast(x, b.builder.getF32Type()) : x; }
  Value narrow(Value x, Type like) const { return b.cast(x, getElementTypeOrSelf(like)); }
  Value rstd(Value variance, const llvm::APFloat &eps) const {
    return graph::RsqrtOp::create(b.builder, b.loc, b.add(variance, b.splat(variance, eps.convertToDouble())));
  }

  Build b;
  Axes mergeAxes;
  int64_t ranks = 1;
};

/// dy and x of a gradient, with what is made of them; one way, so that equal parts are found equal.
struct GradientSums {
  GradientSums(const Build &b, Value dy, Value x, Value mean, Value rstd, ArrayRef<int64_t> dims) {
    Type type = x.getType();
    Dims statistic = graph::concat({0}, graph::without(graph::range(0, graph::rankOf(x)), dims));
    wideRstd = b.broadcast(rstd, type, statistic);
    normal = b.mul(b.sub(x, b.broadcast(mean, type, statistic)), wideRstd);
    dot = b.sum(b.mul(dy, normal), dims);
    sum = b.sum(dy, dims);
  }
  Value wideRstd, normal, dot, sum;
};
} // namespace

namespace {
/// Sets the phase of new ops, so that CSE does not merge ops of the forward and the backward pass: the backward pass
/// casts 16-bit values to f32 itself, and the f32 values need not be kept. Both kinds of gradients get one phase, so
/// that they share ops.
struct KeepsPhase : OpBuilder::Listener {
  KeepsPhase(OpBuilder &builder, Operation *op)
      : builder(builder), before(builder.getListener()), phase(graph::getPhase(op)) {
    if (phase == graph::Phase::WeightGradient)
      phase = graph::Phase::InputGradient;
    if (graph::isHalf(op->getOperand(0)))
      builder.setListener(this);
  }
  ~KeepsPhase() { builder.setListener(before); }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { graph::setPhase(op, phase); }

  OpBuilder &builder;
  OpBuilder::Listener *before;
  graph::Phase phase;
};
} // namespace

static SmallVector<Value> emitNorm(graph::BatchNormOp op, const Emitter &e, ArrayRef<Value> operands,
                                   ArrayRef<Type> types) {
  const Build &b = e.b;
  Value x = e.wide(operands[0]);
  ArrayRef<int64_t> dims = op.getDims();
  Dims kept = graph::without(graph::range(0, graph::rankOf(x)), dims);
  double count = graph::product(graph::at(graph::shapeOf(x), dims));
  Value mean = e.average(b.sum(x, dims), count);
  Value distance = b.sub(x, b.broadcast(mean, x.getType(), kept));
  Value squares = b.sum(b.mul(distance, distance), dims);
  if (e.ranks > 1) {
    Value whole = e.average(e.merged(mean), double(e.ranks));
    Value off = b.sub(mean, whole);
    squares = e.merged(b.add(squares, b.mul(b.mul(off, off), count)));
    mean = whole;
    distance = b.sub(x, b.broadcast(mean, x.getType(), kept));
  }
  Value variance = e.average(squares, count * double(e.ranks));
  Value slope = b.mul(e.rstd(variance, op.getEps()), operands[1]);
  Value y = b.add(b.mul(distance, b.broadcast(slope, x.getType(), kept)), b.broadcast(operands[2], x.getType(), kept));
  Dims channels = graph::range(1, kept.size() + 1);
  return {e.narrow(y, types[0]), b.broadcast(mean, types[1], channels), b.broadcast(variance, types[2], channels)};
}

static SmallVector<Value> emitGrad(graph::BatchNormGradOp op, const Emitter &e, ArrayRef<Value> operands,
                                   ArrayRef<Type> types) {
  const Build &b = e.b;
  Value dy = e.wide(operands[0]), x = e.wide(operands[1]);
  Type type = x.getType();
  GradientSums sums(b, dy, x, operands[3], e.rstd(operands[4], op.getEps()), op.getDims());
  Dims kept = graph::without(graph::range(0, graph::rankOf(x)), op.getDims());
  // Number of cells of the whole group without padding.
  double count = graph::product(graph::at(graph::shapeOf(op.getX()), op.getDims())) / double(op.getGroups());
  auto [dot, sum] = e.mergedPair(sums.dot, sums.sum);
  auto average = [&](Value total) { return b.broadcast(e.average(total, count), type, kept); };
  Value centred = b.sub(b.sub(dy, average(sum)), b.mul(sums.normal, average(dot)));
  return {e.narrow(b.mul(centred, b.mul(sums.wideRstd, b.broadcast(operands[2], type, kept))), types[0])};
}

static SmallVector<Value> emitParamGrad(graph::BatchNormParamGradOp op, const Emitter &e, ArrayRef<Value> operands,
                                        ArrayRef<Type>) {
  GradientSums sums(e.b, e.wide(operands[0]), e.wide(operands[1]), operands[2], e.rstd(operands[3], op.getEps()),
                    op.getDims());
  return {sums.dot, sums.sum};
}

static SmallVector<Value> emitRunning(graph::RunningStatisticsOp op, const Emitter &e, ArrayRef<Value> operands,
                                      ArrayRef<Type>) {
  const Build &b = e.b;
  double momentum = op.getMomentum().convertToDouble(), cells = op.getCells();
  // Statistics of a whole group are the same on the ranks that share it.
  auto norm = op.getMean().getDefiningOp<graph::BatchNormOp>();
  bool equal = norm && norm.getGroups() == op.getGroups();
  SmallVector<Value> results;
  for (int which = 0; which < 2; ++which) {
    Value statistic = operands[2 + which];
    Value average = e.average(b.sum(statistic, {0}), double(graph::shapeOf(statistic)[0]));
    if (!equal && e.ranks > 1)
      average = e.average(e.merged(average), double(e.ranks));
    if (which && op.getUnbiased())
      average = e.average(b.mul(average, cells), cells - 1);
    results.push_back(b.add(operands[which], b.mul(b.sub(average, operands[which]), momentum)));
  }
  return results;
}

static SmallVector<Value> emitSum(graph::GroupSumOp op, const Emitter &e, ArrayRef<Value> operands,
                                  ArrayRef<Type> types) {
  Value sum = e.merged(e.b.sum(operands[0], {0}));
  return {e.b.broadcast(sum, types[0], graph::range(1, graph::rankOf(operands[0])))};
}

std::optional<SmallVector<Value>> emitBatchStatistics(OpBuilder &builder, Operation *op, const FactorMap &map,
                                                      const Placement &placement, ArrayRef<Value> operands,
                                                      ArrayRef<Type> types) {
  static const auto table = OpTable<SmallVector<Value>, const Emitter &, ArrayRef<Value>, ArrayRef<Type>>()
                                .on(emitNorm)
                                .on(emitGrad)
                                .on(emitParamGrad)
                                .on(emitRunning)
                                .on(emitSum);
  if (!table.contains(op))
    return std::nullopt;
  KeepsPhase keepsPhase(builder, op);
  Emitter e(builder, op, map, placement);
  return table(op, e, operands, types);
}

} // namespace dtcc::spmd
