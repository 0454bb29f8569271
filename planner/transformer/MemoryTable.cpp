//===- MemoryTable.cpp - What a device holds, stage by stage of ZeRO
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/MemoryTable.h"
#include "planner/search/DeviceCounts.h"
#include "planner/transformer/Memory.h"
#include <algorithm>
#include <cmath>

namespace dtcc::plan {

static MemoryParts partsOf(const cost::MemoryBytes &bytes, const cost::StateBytes &state) {
  double scale = state.total() > 0 ? bytes.state / state.total() : 0;
  return {scale * state.parameters, scale * state.gradients,       scale * state.optimizer,
          bytes.activations,        bytes.gathered + bytes.logits, bytes.reserve};
}

std::vector<MemoryRow> tabulateMemory(const TransformerProblem &problem, const Parallelism &shape) {
  Parallelism plan = shape;
  // Stages hold as many micro-batches in flight as 1F1B does.
  plan.schedule = shape.pp > 1 ? cost::PipelineKind::OneForwardOneBackward : cost::PipelineKind::None;
  plan.sequenceParallel = shape.tp > 1;
  cost::RunSetting run = problem.run;
  run.samples = double(problem.batch) / double(shape.dp * shape.microbatches);
  std::vector<MemoryRow> rows;
  for (int zero = 0; zero <= (shape.dp * shape.cp > 1 ? 3 : 0); ++zero)
    for (Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
      plan.zero = zero;
      plan.recompute = recompute;
      cost::MemoryBytes bytes = cost::forecastMemory(problem.model, plan, run, problem.software);
      MemoryRow row{zero, recompute, partsOf(bytes, cost::stateBytesOf(plan, problem.software)), false};
      // As much state as the devices have, in elements.
      cost::StateBytes each = cost::stateBytesOf(plan, problem.software);
      row.memory.host = each.gradients > 0
                            ? row.memory.gradients / each.gradients * cost::hostBytes({1, 0}, plan, problem.software)
                            : 0;
      row.fits = cost::fitsIn(row.memory.total(), problem.device);
      // The core of attention is all that is selected: nothing, where its kernel keeps no scores.
      if (recompute != Recompute::Selective || row.memory.activations < rows.back().memory.activations)
        rows.push_back(row);
    }
  return rows;
}

std::optional<FewestDevices> fewestDevices(TransformerProblem problem, const ShapeSpace &given, int64_t most) {
  // Nothing shares more than stage 3 over all devices.
  double state = problem.model.parameters() * (problem.software.wholeBytes + problem.software.sharedBytes);
  double least = state / cost::usableBytes(problem.device);
  const TransformerProblem before = problem;
  for (int64_t devices : deviceCounts(least, problem.fabric.domain, most)) {
    problem.devices = problem.batch = devices;
    ShapeSpace space = shapeSpaceOf(problem, given, before);
    // A rank that shares with none does as in stage 0, whatever the stage.
    bool shares = std::find(given.zero.begin(), given.zero.end(), 0) == given.zero.end();
    if (shares)
      space.zero.push_back(0);
    ShapeList shapes = enumerateShapes(space);
    if (shares)
      shapes.eraseIf([](const Parallelism &shape) { return shape.zero == 0 && shape.dp * shape.cp > 1; });
    TransformerPricer pricer(problem);
    ShapeResult result = searchBest(shapes, pricer);
    if (!result.plans.empty())
      return FewestDevices{devices, describe(problem, pricer, result.plans[0])};
  }
  return std::nullopt;
}

} // namespace dtcc::plan
