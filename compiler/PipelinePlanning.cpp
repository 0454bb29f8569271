//===- PipelinePlanning.cpp - The pipeline of a plan, as the command line gives it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/PipelinePlanning.h"
#include "passes/dist/CutStages.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace dtcc;

static LogicalResult wrong(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "dtcc") << message << '\n';
  return failure();
}

int64_t PipelineRequest::stages() const {
  return schedule.empty() ? actions.stages() : ranks * plan::stagesPerRank(schedule).value_or(1);
}

FailureOr<PipelineRequest> dtcc::parsePipeline(const Options &options, int64_t ranks) {
  PipelineRequest request;
  request.ranks = ranks;
  if (options.schedule.empty())
    return request;
  if (ranks == 1)
    return wrong("--schedule needs stages, as --mesh=pp=2, got: --schedule=" + options.schedule);
  if (plan::stagesPerRank(options.schedule)) {
    request.schedule = options.schedule;
    return request;
  }
  if (!StringRef(options.schedule).ends_with(".csv"))
    return wrong("--schedule must be gpipe, 1f1b, interleaved:V, zero-bubble or FILE.csv, got: " + options.schedule);
  auto buffer = llvm::MemoryBuffer::getFile(options.schedule, /*IsText=*/true);
  if (!buffer)
    return wrong("--schedule: cannot read " + options.schedule + ": " + buffer.getError().message());
  llvm::Expected<plan::Schedule> actions = plan::parseScheduleCsv((*buffer)->getBuffer(), options.schedule);
  if (!actions)
    return wrong("--schedule: " + llvm::toString(actions.takeError()));
  if (int64_t(actions->ranks.size()) != ranks)
    return wrong("--schedule: " + options.schedule + " must have a line for each of the " + Twine(ranks) +
                 " ranks of --mesh=pp, got: " + Twine(actions->ranks.size()));
  request.schedule.clear();
  request.actions = std::move(*actions);
  return request;
}

int64_t dtcc::defaultMicrobatches(const PipelineRequest &request, ModuleOp module, int64_t dp) {
  if (request.ranks == 1)
    return 1;
  if (request.schedule.empty())
    return request.actions.microbatches();
  int64_t batch = 1;
  if (auto step = module.lookupSymbol<func::FuncOp>("step"))
    for (Type type : step.getArgumentTypes())
      if (auto shaped = cast<ShapedType>(type); shaped.getRank() > 0)
        batch = shaped.getDimSize(0);
  int64_t unit = plan::stagesPerRank(request.schedule).value_or(1) > 1 ? request.ranks : 1;
  for (int64_t count = 4 * request.ranks; count > unit; count -= unit)
    if (batch % (dp * count) == 0)
      return count;
  return unit;
}

LogicalResult dtcc::addPipeline(ModuleOp module, const PipelineRequest &request, const cost::Machine &machine,
                                std::vector<dist::PricedPlan> &plans) {
  FailureOr<std::vector<int64_t>> cuts =
      dist::cutStages(module.lookupSymbol<func::FuncOp>("step"), request.stages(), machine);
  if (failed(cuts))
    return failure();
  std::string problem;
  std::vector<dist::PricedPlan> kept;
  for (dist::PricedPlan &priced : plans) {
    plan::Plan &plan = priced.plan;
    auto first = llvm::find_if(plan.mesh.axes, [](const dist::MeshAxis &axis) { return !axis.time; });
    plan.mesh.axes.insert(first, {"pp", request.ranks, false});
    plan.pipeline = plan::PipelinePlan{"pp", request.schedule, request.actions, *cuts};
    if (llvm::Error error = plan.check()) {
      problem = llvm::toString(std::move(error));
      continue;
    }
    llvm::Expected<plan::Schedule> schedule = plan.schedule();
    if (!schedule) {
      problem = llvm::toString(schedule.takeError());
      continue;
    }
    // A stage has its share of the work and state, and waits; it holds activations of several micro-batches.
    double share = 1.0 / double(request.ranks), busy = 1 - plan::timelineOf(*schedule).bubble(*schedule);
    priced.placementSeconds *= share / busy;
    priced.gradientSeconds *= share;
    priced.parameterBytes *= share;
    priced.gradientBytes *= share;
    priced.slotBytes *= share;
    priced.activationBytes *= double(schedule->peakInFlight(0)) / double(request.stages());
    priced.fits = machine.memoryBytes == 0 || priced.bytes() <= machine.memoryBytes;
    kept.push_back(std::move(priced));
  }
  if (kept.empty())
    return wrong("--schedule: " + problem);
  plans = std::move(kept);
  return success();
}
