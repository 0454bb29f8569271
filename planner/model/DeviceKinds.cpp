//===- DeviceKinds.cpp - A step on each device kind of a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/DeviceKinds.h"

using namespace mlir;

namespace dtcc::spmd {

using plan::Parallelism;

DeviceKinds::DeviceKinds(func::FuncOp step, llvm::ArrayRef<cost::Machine> machines, const GraphRequest &request,
                         const DeviceKinds *like, bool sharesPlacements) {
  int64_t ranks = 0;
  for (const cost::Machine &machine : machines)
    ranks += machine.ranks;
  for (const cost::Machine &machine : machines)
    kinds.push_back(std::make_unique<DeviceKind>(step, machine, ranks, machines.size() > 1, request,
                                                 kinds.empty() ? nullptr : kinds.front().get(),
                                                 like ? like->kinds[kinds.size()].get() : nullptr, sharesPlacements));
}

void DeviceKind::place(const plan::ShapeList &shapes) {
  placements.place(shapes, [&](const Parallelism &shape) { return problems.canBeCut(shape); });
}

void DeviceKind::prepare(const plan::ShapeList &shapes) {
  placements.prepare(shapes, [&](const Parallelism &shape) { return problems.canBeCut(shape); });
}

void DeviceKinds::place(const plan::ShapeList &shapes) const {
  for (const std::unique_ptr<DeviceKind> &kind : kinds)
    kind->place(shapes);
}

void DeviceKinds::prepare(const plan::ShapeList &shapes) const {
  for (const std::unique_ptr<DeviceKind> &kind : kinds)
    kind->prepare(shapes);
}

void DeviceKinds::makeProblem(const Parallelism &shape, std::optional<uint32_t> only,
                              plan::StageProblem &problem) const {
  first().problems.make(shape, only, problem);
  for (const std::unique_ptr<DeviceKind> &other : llvm::drop_begin(kinds))
    problem.addClasses(other->problems.make(shape, only));
}

plan::SimulatedStep DeviceKinds::simulated(const Parallelism &shape, const plan::StageSolution &solution) const {
  std::vector<plan::SimulatedStep> steps;
  for (const std::unique_ptr<DeviceKind> &kind : kinds)
    steps.push_back(kind->solved(shape, solution).simulated(kind->facts));
  if (!isMixed())
    return std::move(steps.front());
  std::vector<size_t> kindOfRank;
  for (size_t rank = 0; rank < size_t(shape.pp); ++rank)
    kindOfRank.push_back(solution.stages[rank].deviceClass);
  return plan::onKinds(steps, kindOfRank);
}

std::vector<std::string> DeviceKinds::devicesOf(const plan::StageSolution &solution) const {
  std::vector<std::string> names;
  for (const plan::StageSolution::Stage &stage : solution.stages)
    names.push_back(of(stage).facts.machine.device.name);
  return names;
}

} // namespace dtcc::spmd
