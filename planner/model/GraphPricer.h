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
// or written as a plan (PlanWriter.h). Only this file knows heterogeneous devices: each device kind has facts, prices
// and problems of its own, with the placements of the first kind.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_GRAPHPRICER_H
#define DTCC_PLANNER_MODEL_GRAPHPRICER_H

#include "planner/model/PlanWriter.h"
#include "planner/model/SolvedStep.h"

namespace dtcc::spmd {

class GraphPricer : public plan::ShapePricer {
public:
  /// `kinds`: a rank among all ranks of the cluster, or one of each kind of devices among those of its kind: then a
  /// stage lies on one kind. The step must not change while it is priced.
  GraphPricer(mlir::func::FuncOp step, llvm::ArrayRef<cost::Machine> kinds, const GraphRequest &request);

  /// The facts of the step and of the first kind of devices.
  const GraphFacts &facts() const { return kinds.front()->facts; }
  PlacementCache &placements() { return kinds.front()->placements; }
  /// All shapes that the graph and the ranks allow.
  plan::ShapeSpace space() const;

  /// Places the step and prices its blocks for all of the shapes. What comes after works on numbers.
  bool prepare(std::vector<plan::Parallelism> &shapes) override;
  double bound(const plan::Parallelism &shape) override;
  double closerBound(const plan::Parallelism &shape) override;
  plan::StageProblem problem(const plan::Parallelism &shape) override;
  plan::StageSolution solve(const plan::Parallelism &shape) override { return solveMixed(shape, std::nullopt); }
  /// Solutions whose blocks all recompute alike. The finer model often prefers them to a mixture that is modelled to be
  /// as fast, because their virtual stages are more even.
  std::vector<plan::StageSolution> others(const plan::Parallelism &shape, const plan::StageSolution &best,
                                          double below) override;
  double refine(const plan::Parallelism &shape, const plan::StageSolution &solution) override {
    return price(shape, solution).total();
  }
  std::optional<cost::StepTimeline> timeline(const plan::Parallelism &shape, const plan::StageSolution &solution,
                                             bool record = true) override;

  /// Solves with a limit of `bytes` for a rank by the estimate of `describe`, without communicators.
  plan::StageSolution solveWithin(const plan::Parallelism &shape, double bytes);
  /// The parts of a solved shape's step by the formulas (cost/Step.h). If the simulation takes longer, the difference
  /// counts as bubble, or with one stage as communication of dp.
  cost::StepSeconds price(const plan::Parallelism &shape, const plan::StageSolution &solution);
  plan::PlanReport describe(const plan::ShapePlan &found);
  /// The plan, as docs/plan-format.md has it.
  plan::Plan write(const plan::Parallelism &shape, const plan::StageSolution &solution);

  /// Whether there are several device kinds.
  bool isMixed() const { return kinds.size() > 1; }
  /// The device kinds of the stages of a solved shape, such as "h100-sxm, a100-80".
  std::string stagesText(const plan::StageSolution &solution) const;

private:
  /// One device kind.
  struct Kind {
    Kind(mlir::func::FuncOp step, const cost::Machine &machine, int64_t ranks, bool isMixed,
         const GraphRequest &request, Kind *first)
        : facts(step, machine, ranks, isMixed, request), placements(facts, first ? &first->placements : nullptr),
          problems(facts, placements) {}
    GraphFacts facts;
    PlacementCache placements;
    ShapeProblems problems;
    SolvedStep solved(const plan::Parallelism &shape, const plan::StageSolution &solution) {
      return SolvedStep::of(facts, placements, problems, shape, solution);
    }
  };
  /// The device kind of a rank of the pipeline.
  Kind &kindOf(const plan::StageSolution &solution, size_t rank) const {
    return *kinds[isMixed() ? solution.stages[rank].deviceClass : 0];
  }
  /// The devices of all stages, if there are several kinds.
  std::vector<std::string> devicesOf(const plan::StageSolution &solution) const;
  /// The stage problem of the shape, all of whose blocks are in the mode `only` if there is one.
  plan::StageProblem problemOf(const plan::Parallelism &shape, std::optional<uint32_t> only);
  /// The solution of problemOf. `bytes`: what a rank may hold; absent: what its device allows.
  plan::StageSolution solveAlike(const plan::Parallelism &shape, std::optional<uint32_t> only,
                                 std::optional<double> bytes);
  /// With any mode for each block; if no such solution is found that fits, with one mode for all.
  plan::StageSolution solveMixed(const plan::Parallelism &shape, std::optional<double> bytes);
  std::vector<plan::StageSolution> othersWithin(const plan::Parallelism &shape, const plan::StageSolution &best,
                                                std::optional<double> bytes, double below);
  /// Modes that all blocks may have, if blocks may differ in them.
  std::vector<uint32_t> commonModes() const;
  llvm::Expected<cost::StepTimeline> simulate(const plan::Parallelism &shape, const plan::StageSolution &solution,
                                              bool record);

  std::vector<std::unique_ptr<Kind>> kinds;
  /// Prices by shape, modes and cuts.
  std::map<std::pair<std::string, std::vector<size_t>>, cost::StepSeconds> priced;
  std::mutex pricing;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_GRAPHPRICER_H
