//===- DeviceKinds.h - A step on each device kind of a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most clusters have one device kind. On heterogeneous devices a stage lies on one kind, and each kind has facts,
// prices and stage problems of its own, with the placements of the first kind.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_DEVICEKINDS_H
#define DTCC_PLANNER_MODEL_DEVICEKINDS_H

#include "planner/model/SolvedStep.h"
#include <memory>

namespace dtcc::spmd {

/// The facts, prices and stage problems of a step on one device kind.
struct DeviceKind {
  /// `ranks`: those of all kinds. `first`: the kind whose placements this one takes; null: its own. `like` and
  /// `sharesPlacements`: see DeviceKinds.
  DeviceKind(mlir::func::FuncOp step, const cost::Machine &machine, int64_t ranks, bool isMixed,
             const GraphRequest &request, DeviceKind *first, const DeviceKind *like, bool sharesPlacements)
      : facts(step, machine, ranks, isMixed, request, like ? like->facts.tables : nullptr),
        held(sharesPlacements ? like->held
                              : std::make_shared<PlacementCache>(facts, first ? &first->placements : nullptr)),
        placements(*held), problems(facts, placements) {}

  /// Places the step for the shapes among `shapes` that can be cut into stages.
  void place(const plan::ShapeList &shapes);
  /// Does the same, and prices the step's blocks.
  void prepare(const plan::ShapeList &shapes);
  SolvedStep solved(const plan::Parallelism &shape, const plan::StageSolution &solution) {
    return SolvedStep::of(facts, placements, problems, shape, solution);
  }

  GraphFacts facts;
  std::shared_ptr<PlacementCache> held;
  /// The placements that `held` holds.
  PlacementCache &placements;
  ShapeProblems problems;
};

class DeviceKinds {
public:
  /// `machines`: a rank among all ranks of the cluster, or one of each device kind among those of its kind. The step
  /// must not change while it is priced. `like`: the same step with the same pins, given plan and fewest blocks, whose
  /// tables are shared. `sharesPlacements`: the machines are the same and the requests differ in their memory alone, so
  /// placements and prices are shared too; `like` must then live as long.
  DeviceKinds(mlir::func::FuncOp step, llvm::ArrayRef<cost::Machine> machines, const GraphRequest &request,
              const DeviceKinds *like = nullptr, bool sharesPlacements = false);

  DeviceKind &first() const { return *kinds.front(); }
  /// The kind of the devices of a stage.
  DeviceKind &of(const plan::StageSolution::Stage &stage) const { return *kinds[isMixed() ? stage.deviceClass : 0]; }
  bool isMixed() const { return kinds.size() > 1; }
  void forgetPrices() {
    for (const std::unique_ptr<DeviceKind> &kind : kinds)
      kind->placements.forgetPrices();
  }
  llvm::ArrayRef<std::unique_ptr<DeviceKind>> all() const { return kinds; }

  /// Places the step on every kind, for the shapes among `shapes` that can be cut into stages.
  void place(const plan::ShapeList &shapes) const;
  /// Does the same, and prices the step's blocks.
  void prepare(const plan::ShapeList &shapes) const;
  /// The stage problem of the shape with a device class for each kind. `only`: the mode of all blocks; absent: any.
  plan::StageProblem problem(const plan::Parallelism &shape, std::optional<uint32_t> only = std::nullopt) const {
    plan::StageProblem problem;
    makeProblem(shape, only, problem);
    return problem;
  }
  /// Makes the same out of a problem of another shape, whose memory is used again.
  void makeProblem(const plan::Parallelism &shape, std::optional<uint32_t> only, plan::StageProblem &problem) const;
  /// The simulation's input for a solved shape, each stage with the times of its kind.
  plan::SimulatedStep simulated(const plan::Parallelism &shape, const plan::StageSolution &solution) const;
  /// The name of each stage's device.
  std::vector<std::string> devicesOf(const plan::StageSolution &solution) const;

private:
  std::vector<std::unique_ptr<DeviceKind>> kinds;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_DEVICEKINDS_H
