//===- BatchGroups.cpp - Which examples a batch norm sees together
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/BatchGroups.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/options/MeshOption.h"
#include "dialects/graph/Graph.h"
#include "planner/plan/Plan.h"

using namespace mlir;
using namespace dtcc;

namespace {
struct Split {
  int64_t microbatches = 1, ranks = 1;
  /// The number of data-parallel ranks is given.
  bool known = false;
};
} // namespace

/// The split of the batch by the options, else by a whole plan. Errors of the plan are reported where it is read; a
/// plan that is completed to another split is refused where it is applied.
static FailureOr<Split> splitOf(const Options &options) {
  Split split;
  // Neither a mesh nor a cluster nor a plan: one rank.
  split.known = options.mesh.empty() && options.plan.empty() && options.cluster == "cpu";
  if (!options.plan.empty()) {
    if (llvm::Expected<plan::Plan> plan = plan::readPlan(options.plan)) {
      split.microbatches = plan->mesh.slots();
      split.ranks = plan->mesh.product(plan->batchAxes) / split.microbatches;
      split.known = true;
    } else {
      llvm::consumeError(plan.takeError());
    }
  }
  MeshOption mesh;
  if (failed(parseMesh(options.mesh, mesh)))
    return failure();
  if (options.microbatches > 0)
    split.microbatches = options.microbatches;
  if (mesh.dp) {
    split.ranks = *mesh.dp;
    split.known = true;
  }
  return split;
}

LogicalResult dtcc::declareBatchGroups(ModuleOp module, const Options &options) {
  SmallVector<graph::BatchNormOp> norms;
  module.walk([&](graph::BatchNormOp norm) { norms.push_back(norm); });
  if (norms.empty())
    return success();
  FailureOr<Split> split = splitOf(options);
  if (failed(split))
    return failure();
  int64_t groups = split->microbatches;
  if (options.batchNorm == "rank") {
    if (!split->known) {
      errorStream() << "--batch-norm=rank needs the number of data-parallel ranks: --mesh=dp=N\n";
      return failure();
    }
    groups *= split->ranks;
  }
  for (graph::BatchNormOp norm : norms) {
    int64_t examples = cast<ShapedType>(norm.getX().getType()).getDimSize(0);
    if (examples % groups)
      return norm.emitError("batch must divide by the groups that have statistics of their own, ")
             << groups << ", got: " << examples;
    norm.setGroups(groups);
  }
  auto result = module.walk([&](graph::RunningStatisticsOp running) {
    int64_t cells = static_cast<int64_t>(running.getCells()) / groups;
    if (running.getUnbiased() && cells < 2) {
      running.emitError("batch norm must have more than one cell per channel and group in training");
      return WalkResult::interrupt();
    }
    running.setGroups(split->microbatches);
    running.setCells(cells);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (split->microbatches > 1)
    emitRemark(module.getLoc()) << "batch norm takes the statistics of each of the " << split->microbatches
                                << " micro-batches, as gradient accumulation does: another number of them trains "
                                   "another model";
  return success();
}
