//===- BatchGroups.cpp - Which samples a batch norm or a loss sees together
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/BatchGroups.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/options/PlanRequest.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "planner/plan/Plan.h"

using namespace mlir;
using namespace dtcc;

namespace {
struct Split {
  int64_t microbatches = 1, ranks = 1;
  /// The number of data-parallel ranks is given, and that of micro-batches.
  bool known = false, microbatchesKnown = false;
  /// The reason why the plan does not say them; empty without a plan.
  std::string planError;
};
} // namespace

/// Reports that an option needs a number that is not known.
static LogicalResult needs(const Split &split, const llvm::Twine &message) {
  errorStream() << message << (split.planError.empty() ? "" : "; the plan does not say it: ") << split.planError
                << '\n';
  return failure();
}

/// The split of the batch by the options, else by a whole plan. Errors of the plan are reported where the plan is read,
/// unless its split is needed here. A plan that is completed to another split is refused where it is applied.
static FailureOr<Split> splitOf(const Options &options) {
  Split split;
  // Without a mesh, a cluster and a plan, the program has one rank.
  split.known = options.mesh.empty() && options.plan.empty() && options.cluster == "cpu";
  if (!options.plan.empty()) {
    if (llvm::Expected<plan::Plan> plan = plan::readPlan(options.plan)) {
      split.microbatches = plan->mesh.slots();
      split.ranks = plan->mesh.product(plan->batchAxes) / split.microbatches;
      split.known = split.microbatchesKnown = true;
    } else {
      split.planError = llvm::toString(plan.takeError());
    }
  }
  FailureOr<PlanRequest> request = resolvePlanRequest(options);
  if (failed(request))
    return failure();
  split.microbatches = request->microbatches.value_or(split.microbatches);
  split.microbatchesKnown |= request->microbatches.has_value();
  if (request->mesh.dp) {
    split.ranks = *request->mesh.dp;
    split.known = true;
  }
  return split;
}

/// The value behind conversions of its type.
static Value withoutCasts(Value value) {
  while (auto cast = value.getDefiningOp<graph::CastOp>())
    value = cast.getX();
  return value;
}

/// Multiplies what a counter of forward passes grows by. False if the buffer is none: state + a constant.
static bool countMicrobatches(graph::WriteOp write, int64_t microbatches) {
  auto sum = withoutCasts(write.getX()).getDefiningOp<graph::AddOp>();
  if (!sum)
    return false;
  for (unsigned operand : {0u, 1u}) {
    auto read = withoutCasts(sum->getOperand(operand)).getDefiningOp<graph::ReadOp>();
    Value step = sum->getOperand(1 - operand);
    std::optional<double> number = graph::splatValue(step);
    if (!read || read.getState() != write.getState() || !number)
      continue;
    OpBuilder builder(sum);
    sum.setOperand(1 - operand, graph::Build(builder, sum.getLoc()).splat(step, *number * double(microbatches)));
    return true;
  }
  return false;
}

/// Checks that buffers change as in PyTorch, where the forward pass of each micro-batch changes them from its own
/// samples. The graph changes a buffer once, from the whole batch. Of such a buffer a step of several micro-batches may
/// only count its forward passes. Batch norm's statistics are an op that knows the groups.
static LogicalResult checkBuffers(ModuleOp module, const Options &options) {
  SmallVector<graph::WriteOp> writes;
  module.walk([&](graph::WriteOp write) {
    if (!withoutCasts(write.getX()).getDefiningOp<graph::RunningStatisticsOp>())
      writes.push_back(write);
  });
  if (writes.empty())
    return success();
  FailureOr<Split> split = splitOf(options);
  if (failed(split))
    return failure();
  for (graph::WriteOp write : writes)
    if (split->microbatches > 1 && !countMicrobatches(write, split->microbatches))
      return write.emitError("buffer '") << write.getState() << "' changes in forward, once a micro-batch: number of "
                                         << "micro-batches must be 1, got: " << split->microbatches;
  return success();
}

/// Sets the attribute that lets each micro-batch take means of the batch from its own samples, if the user asks for it.
static LogicalResult declareLossGroups(ModuleOp module, const Options &options) {
  if (options.batchLosses != "microbatch")
    return success();
  FailureOr<Split> split = splitOf(options);
  if (failed(split))
    return failure();
  if (!split->microbatchesKnown)
    return needs(*split, "--batch-losses=microbatch needs the number of micro-batches: --microbatches=N");
  if (split->microbatches > 1)
    module->setAttr(graph::kLossGroupsAttr, OpBuilder(module).getI64IntegerAttr(split->microbatches));
  return success();
}

LogicalResult dtcc::declareBatchGroups(ModuleOp module, const Options &options) {
  SmallVector<graph::BatchNormOp> norms;
  SmallVector<graph::RunningStatisticsOp> moved;
  module.walk([&](graph::BatchNormOp norm) { norms.push_back(norm); });
  module.walk([&](graph::RunningStatisticsOp running) { moved.push_back(running); });
  if (failed(checkBuffers(module, options)) || failed(declareLossGroups(module, options)))
    return failure();
  if (norms.empty() && moved.empty())
    return success();
  FailureOr<Split> split = splitOf(options);
  if (failed(split))
    return failure();
  int64_t groups = split->microbatches;
  if (options.batchNorm == "rank") {
    if (!split->known)
      return needs(*split, "--batch-norm=rank needs the number of data-parallel ranks: --mesh=dp=N");
    groups *= split->ranks;
  }
  for (graph::BatchNormOp norm : norms) {
    int64_t samples = cast<ShapedType>(norm.getX().getType()).getDimSize(0);
    if (samples % groups)
      return norm.emitError("batch must divide by the groups that have statistics of their own, ")
             << groups << ", got: " << samples;
    norm.setGroups(groups);
  }
  for (graph::RunningStatisticsOp running : moved) {
    running.setGroups(split->microbatches);
    // Statistics of an instance norm are of one sample, in a group of any size.
    if (!withoutCasts(running.getMean()).getDefiningOp<graph::BatchNormOp>())
      continue;
    int64_t cells = static_cast<int64_t>(running.getCells()) / groups;
    if (running.getUnbiased() && cells < 2)
      return running.emitError("batch norm must have more than one cell per channel and group in training");
    running.setCells(cells);
  }
  if (split->microbatches > 1 && !norms.empty())
    emitRemark(module.getLoc()) << "batch norm uses the statistics of each of the " << split->microbatches
                                << " micro-batches, as gradient accumulation does: another number of micro-batches "
                                   "trains another model";
  return success();
}
