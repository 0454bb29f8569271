//===- GraphPricer.h - Shapes of a plan for a graph on a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search over shapes (planner/search/ShapeSearch.h) for a training step in the IR. The placement of the step is
// solved once for each way to split it (PlacementCache.h), a shape becomes a stage problem by arithmetic
// (ShapeProblems.h), and a solved shape is priced by the formulas of planner/cost and by its simulation (SolvedStep.h),
// or written as a plan (PlanWriter.h). DeviceKinds.h and this file alone know heterogeneous devices.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_GRAPHPRICER_H
#define DTCC_PLANNER_MODEL_GRAPHPRICER_H

#include "planner/model/PlanWriter.h"
#include "planner/model/ShapeSolver.h"
#include "llvm/ADT/StringExtras.h"
#include <mutex>

namespace dtcc::spmd {

class GraphPricer : public plan::ShapePricer {
public:
  /// All arguments: see DeviceKinds. The step must not change while it is priced.
  GraphPricer(mlir::func::FuncOp step, llvm::ArrayRef<cost::Machine> machines, const GraphRequest &request,
              const std::shared_ptr<GraphPricer> &like = nullptr, bool sharesPlacements = false)
      : placer(sharesPlacements ? like : nullptr),
        kinds(step, machines, request, like ? &like->kinds : nullptr, sharesPlacements), solver(kinds) {}

  /// The facts of the step and of the first device kind.
  const GraphFacts &facts() const { return kinds.first().facts; }
  PlacementCache &placements() { return kinds.first().placements; }
  /// Frees what a search has priced. The few shapes that are asked for afterwards are priced again.
  void forgetPrices() { kinds.forgetPrices(); }
  /// All shapes that the graph and the ranks allow.
  plan::ShapeSpace space() const;

  /// Places the step and prices its blocks for all of the shapes. What comes after works on numbers.
  bool prepare(plan::ShapeList &shapes) override;
  double bound(const plan::Parallelism &shape) override;
  double boundBetween(const plan::Parallelism &fewest, const plan::Parallelism &most) override;
  double closerBound(const plan::Parallelism &shape) override;
  plan::StageProblem problem(const plan::Parallelism &shape) override { return kinds.problem(shape); }
  plan::StageSolution solve(const plan::Parallelism &shape) override { return solver.solve(shape); }
  /// Solutions whose blocks all recompute alike. The finer model often prefers them to a mixture that is modelled to be
  /// as fast, because their virtual stages are more even.
  std::vector<plan::StageSolution> others(const plan::Parallelism &shape, double below) override {
    return solver.alike(shape, std::nullopt, below);
  }
  double refine(const plan::Parallelism &shape, const plan::StageSolution &solution) override {
    return price(shape, solution).total();
  }
  double refineBelow(const plan::Parallelism &shape, const plan::StageSolution &solution, double below) override {
    return price(shape, solution, below).total();
  }
  std::optional<cost::StepTimeline> timeline(const plan::Parallelism &shape, const plan::StageSolution &solution,
                                             bool record = true) override;

  /// Solves with a limit of `bytes` for a rank by the estimate of `describe`, without communicators.
  plan::StageSolution solveWithin(const plan::Parallelism &shape, double bytes);
  /// The solutions with such a limit whose blocks all recompute alike.
  std::vector<plan::StageSolution> alikeWithin(const plan::Parallelism &shape, double bytes) {
    return solver.alike(shape, bytes, plan::kNever);
  }
  /// The parts of a solved shape's step by the formulas (cost/Step.h). If the simulation takes longer, the difference
  /// counts as bubble, or with one stage as communication of dp. A step that takes at least `below` by the formulas is
  /// not simulated.
  cost::StepSeconds price(const plan::Parallelism &shape, const plan::StageSolution &solution,
                          double below = plan::kNever);
  plan::PlanReport describe(const plan::ShapePlan &found);
  /// The plan, as docs/plan-format.md has it.
  plan::Plan write(const plan::Parallelism &shape, const plan::StageSolution &solution);

  /// Whether there are several device kinds.
  bool isMixed() const { return kinds.isMixed(); }
  /// The device kinds of the stages of a solved shape, such as "h100-sxm, a100-80".
  std::string stagesText(const plan::StageSolution &solution) const {
    return llvm::join(kinds.devicesOf(solution), ", ");
  }

private:
  void removeStationaryTwins(plan::ShapeList &shapes);
  llvm::Expected<cost::StepTimeline> simulate(const plan::Parallelism &shape, const plan::StageSolution &solution,
                                              bool record);

  /// The pricer whose placements are shared; may be null.
  std::shared_ptr<GraphPricer> placer;
  DeviceKinds kinds;
  ShapeSolver solver;
  /// Prices by shape, modes and cuts.
  std::map<std::pair<std::string, std::vector<size_t>>, cost::StepSeconds> priced;
  std::mutex pricing;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_GRAPHPRICER_H
