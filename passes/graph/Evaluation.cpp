//===- Evaluation.cpp - The loss in evaluation form beside a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Evaluation.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/Shapes.h"
#include "mlir/IR/IRMapping.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/OriginFactors.h"
#include "passes/graph/Passes.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHADDEVALUATION
#include "passes/graph/Passes.h.inc"

namespace {

class Evaluation {
public:
  explicit Evaluation(func::FuncOp step) : step(step), builder(step.front().getTerminator()) {
    for (auto running : step.getOps<RunningStatisticsOp>())
      if (Operation *norm = running.getMean().getDefiningOp(); isa_and_nonnull<BatchNormOp, LayerNormOp>(norm))
        runningOf.try_emplace(norm, running);
  }

  void run(Prediction prediction) {
    Operation *end = step.front().getTerminator();
    SmallVector<Value> results(end->getOperands());
    CrossEntropyOp loss = prediction == Prediction::None ? CrossEntropyOp() : findPredictingLoss(step);
    for (unsigned i : {0u, 1u})
      results.push_back(again(end->getOperand(i)));
    if (loss)
      results.push_back(predict(loss, prediction));
    end->setOperands(results);
    step.setFunctionType(builder.getFunctionType(step.getArgumentTypes(), end->getOperandTypes()));
  }

private:
  /// `value` as the evaluation computes it.
  Value again(Value value);
  /// Repeats an op that evaluation computes as training does.
  void repeat(Operation *op);
  /// The normalisation by the running statistics, which are no parameters. scaleDims: dimensions of x that scale and
  /// bias have.
  template <typename NormOp> void normalise(NormOp op, RunningStatisticsOp running, ArrayRef<int64_t> scaleDims);
  /// The prediction made of the logits that the repeated `loss` reads.
  Value predict(CrossEntropyOp loss, Prediction prediction);
  Value logitsOfRow(const Build &b, CrossEntropyOp loss, Value logits, Value labels);
  Value hits(const Build &b, CrossEntropyOp loss, Value logits, Value labels);
  /// The ops built behind `last`, or from the start of the step if it is null; tags them as part of the evaluation.
  SmallVector<Operation *> tagBuilt(Operation *last, Operation *origin);
  /// The values that evaluation reads in place of those of `op`.
  SmallVector<Value> sourcesOf(Operation *op) const;

  func::FuncOp step;
  OpBuilder builder;
  IRMapping mapping;
  /// The running statistics that a norm moves: a batch norm, or a layer norm of each channel (an instance norm).
  llvm::DenseMap<Operation *, RunningStatisticsOp> runningOf;
};

/// The running statistic before the first update of the step.
Value stored(Value running) {
  while (auto before = running.getDefiningOp<RunningStatisticsOp>())
    running = before.getOperand(cast<OpResult>(running).getResultNumber());
  return running;
}

/// The dimensions of x whose statistics run: neither the samples nor what is normalised together.
Dims channelsOf(Value x, ArrayRef<int64_t> normalised) {
  Dims channels = without(range(0, rankOf(x)), normalised);
  llvm::erase(channels, 0);
  return channels;
}

} // namespace

SmallVector<Value> Evaluation::sourcesOf(Operation *op) const {
  if (auto dropout = dyn_cast<DropoutOp>(op))
    return {dropout.getX()};
  SmallVector<Value> sources(op->getOperands());
  if (RunningStatisticsOp running = runningOf.lookup(op))
    llvm::append_values(sources, stored(running.getRunningMean()), stored(running.getRunningVariance()));
  return sources;
}

/// Walks with a stack of its own: a step may be deeper than the thread's.
Value Evaluation::again(Value value) {
  SmallVector<Operation *> work;
  auto need = [&](Value source) {
    if (source.getDefiningOp() && !mapping.contains(source))
      work.push_back(source.getDefiningOp());
  };
  need(value);
  while (!work.empty()) {
    Operation *op = work.back();
    size_t before = work.size();
    llvm::for_each(sourcesOf(op), need);
    if (work.size() > before)
      continue;
    work.pop_back();
    if (mapping.contains(op->getResult(0)))
      continue;
    RunningStatisticsOp running = runningOf.lookup(op);
    if (auto dropout = dyn_cast<DropoutOp>(op))
      mapping.map(dropout.getY(), mapping.lookupOrDefault(dropout.getX()));
    else if (!running)
      repeat(op);
    else if (auto batch = dyn_cast<BatchNormOp>(op))
      normalise(batch, running, channelsOf(batch.getX(), batch.getDims()));
    else
      normalise(cast<LayerNormOp>(op), running, cast<LayerNormOp>(op).getDims());
  }
  return mapping.lookupOrDefault(value);
}

void Evaluation::repeat(Operation *op) {
  Operation *clone = builder.clone(*op, mapping);
  setPhase(clone, Phase::Evaluation);
  if (auto factored = dyn_cast<FactorOpInterface>(op))
    setOriginFactors(clone, llvm::to_vector(llvm::seq<int64_t>(0, factored.getFactorMap().factors.size())));
}

template <typename NormOp>
void Evaluation::normalise(NormOp op, RunningStatisticsOp running, ArrayRef<int64_t> scaleDims) {
  Operation *last = builder.getInsertionPoint()->getPrevNode();
  Build b(builder, op.getLoc());
  auto of = [&](Value value) { return mapping.lookupOrDefault(value); };
  Type element = elementOf(op.getX());
  Value mean = of(stored(running.getRunningMean())), variance = of(stored(running.getRunningVariance()));
  Value x = b.cast(of(op.getX()), elementOf(mean));
  Dims channels = channelsOf(x, op.getDims());
  Value steady = b.add(variance, b.splat(variance, op.getEps().convertToDouble()));
  Value rstd = RsqrtOp::create(builder, op.getLoc(), steady), scale = of(op.getScale());
  auto spread = [&](Value value, ArrayRef<int64_t> dims) { return b.broadcast(value, x.getType(), dims); };
  Value distance = b.sub(x, spread(mean, channels));
  Value slope = scaleDims == ArrayRef(channels) ? spread(b.mul(rstd, scale), channels)
                                                : b.mul(spread(rstd, channels), spread(scale, scaleDims));
  Value y = b.add(b.mul(distance, slope), spread(of(op.getBias()), scaleDims));
  mapping.map(op.getY(), b.cast(y, element));
  Value second = std::is_same_v<NormOp, BatchNormOp> ? variance : rstd;
  for (auto [batch, statistic] : {std::pair(op->getResult(1), mean), std::pair(op->getResult(2), second)})
    if (llvm::any_of(batch.getUsers(),
                     [](Operation *user) { return computesLoss(user) && !isa<RunningStatisticsOp>(user); }))
      mapping.map(batch, b.broadcast(statistic, batch.getType(), range(1, rankOf(batch))));
  SmallVector<Operation *> built = tagBuilt(last, op);
  // The dimensions of x, scale and bias are known to be the norm's; all built ops follow from them.
  Value results[] = {mapping.lookup(op.getY()), Value(), Value()};
  trackFactorsOf(op, {of(op.getX()), of(op.getScale()), of(op.getBias())}, results, built);
}

SmallVector<Operation *> Evaluation::tagBuilt(Operation *last, Operation *origin) {
  SmallVector<Operation *> built;
  for (Operation *made = last ? last->getNextNode() : &step.front().front(); made != &*builder.getInsertionPoint();
       made = made->getNextNode()) {
    setOrigin(made, *getOrigin(origin), Phase::Evaluation);
    built.push_back(made);
  }
  return built;
}

/// A sum over rows that are zero but for one is that row, bit by bit.
Value Evaluation::logitsOfRow(const Build &b, CrossEntropyOp loss, Value logits, Value labels) {
  SmallVector<int64_t> rows = range(0, rankOf(labels));
  Value counts = b.compare(Predicate::ne, labels, b.splat(labels, double(int64_t(*loss.getIgnoreIndex()))));
  Value counted = b.broadcast(counts, withShape(counts.getType(), shapeOf(logits)), rows);
  return b.sum(b.select(counted, logits, b.splat(logits, 0)), rows);
}

/// Statistics of a row skip padded classes, and are merged where ranks divide the classes. An ignored label names no
/// class.
Value Evaluation::hits(const Build &b, CrossEntropyOp loss, Value logits, Value labels) {
  auto row = withShape(logits.getType(), shapeOf(labels));
  auto statistics =
      CrossEntropyStatsOp::create(builder, loss.getLoc(), row, row, row, logits, labels,
                                  builder.getI64IntegerAttr(shapeOf(logits).back()), /*class_axes=*/nullptr);
  Value hit = b.compare(Predicate::eq, statistics.getTarget(), statistics.getMaximum());
  if (std::optional<int64_t> ignored = loss.getIgnoreIndex())
    hit =
        AndOp::create(builder, loss.getLoc(), hit, b.compare(Predicate::ne, labels, b.splat(labels, double(*ignored))));
  return b.sum(b.select(hit, b.splat(statistics.getTarget(), 1), b.splat(statistics.getTarget(), 0)),
               range(0, rankOf(labels)));
}

Value Evaluation::predict(CrossEntropyOp loss, Prediction prediction) {
  Operation *last = builder.getInsertionPoint()->getPrevNode();
  Build b(builder, loss.getLoc());
  Value logits = mapping.lookupOrDefault(loss.getLogits()), labels = mapping.lookupOrDefault(loss.getLabels());
  Value wide = b.cast(logits, builder.getF32Type());
  Value result = prediction == Prediction::Logits ? logitsOfRow(b, loss, wide, labels) : hits(b, loss, wide, labels);
  Value results[] = {mapping.lookup(loss.getSum()), mapping.lookup(loss.getCount()), mapping.lookup(loss.getLse())};
  trackFactorsOf(loss, {logits, labels}, results, tagBuilt(last, loss));
  return result;
}

/// Whether an argument of the role `role` reaches `value`. Walks with a stack of its own: a step may be deeper than the
/// thread's.
static bool dependsOn(Value value, func::FuncOp step, StringRef role) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      auto is = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
      if (is && is.getValue() == role)
        return true;
    } else if (seen.insert(next.getDefiningOp()).second) {
      llvm::append_range(work, next.getDefiningOp()->getOperands());
    }
  }
  return false;
}

int64_t inputRank(FunctionOpInterface step, StringRef role) {
  int64_t most = 0;
  for (auto [i, argument] : llvm::enumerate(step.getArguments())) {
    auto is = step.getArgAttrOfType<StringAttr>(unsigned(i), "graph.role");
    // Types of other levels are not told apart.
    auto type = dyn_cast<ShapedType>(argument.getType());
    if (is && is.getValue() == role)
      most = std::max(most, type ? type.getRank() : int64_t(1));
  }
  return most;
}

CrossEntropyOp findPredictingLoss(func::FuncOp step) {
  CrossEntropyOp only;
  for (auto loss : step.getOps<CrossEntropyOp>()) {
    if (getPhase(loss) != Phase::Forward)
      continue;
    if (only)
      return {};
    only = loss;
  }
  return only && getOrigin(only) && !dependsOn(only.getLogits(), step, "labels") ? only : CrossEntropyOp();
}

Prediction predictionOf(func::FuncOp step, CrossEntropyOp loss) {
  if (!loss)
    return Prediction::None;
  // A class for a whole sample of tokens is no next token. Nor is one beside a category of each sample, which looks up
  // a row of a table as a token does.
  const int64_t ofLabels = inputRank(step, "labels");
  if (!dependsOn(loss.getLogits(), step, "tokens") || ofLabels < inputRank(step, "tokens") || ofLabels < 2)
    return Prediction::Hits;
  return loss.getIgnoreIndex() && dependsOn(loss.getLabels(), step, "labels") ? Prediction::Logits : Prediction::None;
}

void addEvaluation(func::FuncOp step, Prediction prediction) { Evaluation(step).run(prediction); }

namespace {
struct AddEvaluation : impl::GraphAddEvaluationBase<AddEvaluation> {
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    if (!step)
      return signalPassFailure();
    addEvaluation(step, predictionOf(step, findPredictingLoss(step)));
  }
};
} // namespace
} // namespace dtcc::graph
