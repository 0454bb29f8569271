//===- ShapeSearch.h - Sizes of the axes, micro-batches, schedule, ZeRO stage
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The outer problem of the planner. A shape is what a plan fixes before anything is
// placed: how many ranks each axis has, how the batch is cut, which schedule, what ranks
// share. For each shape the blocks are cut into stages (StageProblem.h). There are
// thousands of shapes for a large cluster; a bound that costs next to nothing leaves most
// of them unsolved. Shapes are solved in the order of their bounds and priced by the finer
// model, until no bound is below the best of these prices. The best plan is therefore exact
// in the finer model, as far as that prices no plan below its bound.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_SHAPESEARCH_H
#define DTCC_PLANNER_SEARCH_SHAPESEARCH_H

#include "planner/parallelism/Parallelism.h"
#include "planner/problem/StageProblem.h"
#include "planner/schedule/Timeline.h"
#include "planner/search/ShapeList.h"
#include <optional>

namespace dtcc::plan {

using cost::PipelineKind;

/// The shape of a parallelism: what a search fixes before blocks choose, without recomputation and offloaded
/// activations.
Parallelism shapeOf(Parallelism parallelism);

/// The space of shapes to search. An axis with only one size is fixed by the user.
struct ShapeSpace {
  int64_t devices = 1;
  /// Samples of a step.
  int64_t batch = 1;
  /// Sizes that the model allows, without regard to the number of devices: divisors of heads, of positions,
  /// of experts, at most as many stages as layers.
  std::vector<int64_t> tp{1}, cp{1}, ep{1}, pp{1};
  /// Parallelism::meshDp.
  std::optional<int64_t> dp, microbatches;
  /// Samples of a micro-batch; stages of a rank under schedules that have several.
  std::optional<int64_t> microbatchSamples, virtualStages;
  /// Groups of data-parallel ranks among which state is shared; dp of the mesh must divide by them.
  int64_t groups = 1;
  /// If dp and cp have too few ranks for ep, experts may be spread over the ranks of tp as well.
  bool expertsOverTensor = false;
  std::vector<int> zero{0, 1, 2, 3};
  /// For shapes with tp; other shapes have none.
  std::vector<bool> sequenceParallel{false};
  /// For shapes with tp.
  std::vector<bool> stationaryWeights{false};
  /// For shapes with cp; other shapes exchange nothing.
  std::vector<SequenceExchange> exchanges{SequenceExchange::Cheaper};
  std::vector<PipelineKind> schedules = cost::searchedSchedules();
  /// Whether optimizer state may be offloaded: {false}, {true} or both.
  std::vector<bool> hostOptimizer{false};
  /// That of all shapes.
  GradientType gradients = GradientType::F32;
  /// Layers that virtual stages may share out.
  int64_t layers = 1;
  /// Devices of each kind, where there are several: a stage lies on one kind, and shapes of one kind alone are shapes
  /// too. Empty: all are of one kind.
  std::vector<int64_t> kinds;
  /// Virtual stages need not have as many layers each; a layer is the least that one has.
  bool unevenStages = false;
};

/// An axis whose sizes a search enumerates, unless --mesh gives its size. Those of dp follow from the others.
struct SearchedAxis {
  std::string_view name;
  std::optional<int64_t> MeshSizes::*size;
  std::vector<int64_t> ShapeSpace::*allowed;
};
inline constexpr SearchedAxis kSearchedAxes[] = {{"tp", &MeshSizes::tp, &ShapeSpace::tp},
                                                 {"cp", &MeshSizes::cp, &ShapeSpace::cp},
                                                 {"ep", &MeshSizes::ep, &ShapeSpace::ep},
                                                 {"pp", &MeshSizes::pp, &ShapeSpace::pp}};

/// All shapes of the space: products of the sizes are the devices, the batch divides,
/// interleaved schedules have as many micro-batches as a multiple of the ranks and divide
/// the layers. Stages of ZeRO above 0 need more than one rank to share.
ShapeList enumerateShapes(const ShapeSpace &space);

/// Stages of `shape` that whole groups of devices of each kind can run.
std::vector<int64_t> stagesOfKinds(const std::vector<int64_t> &kinds, const Parallelism &shape);

/// Forecasts; an implementation keeps what shapes have in common.
class ShapePricer {
public:
  virtual ~ShapePricer();
  /// Called once before all other methods. May remove shapes that describe the same plan as another shape. Returns
  /// whether several threads may call the other methods at once.
  virtual bool prepare(ShapeList &shapes) { return false; }
  /// Lower bound on the seconds of all plans of the shape. Infinity: none fits.
  virtual double bound(const Parallelism &shape) = 0;
  /// Lower bound for a family of shapes that differ only in their number of virtual stages, from that of `fewest` to
  /// that of `most`. Infinity: no shape of the family fits. Default: 0, so that each shape is bounded by itself.
  virtual double boundBetween(const Parallelism &fewest, const Parallelism &most) { return 0; }
  /// A closer bound, for more work: it is asked for shapes whose bound leaves them open. Default: the bound.
  virtual double closerBound(const Parallelism &shape) { return bound(shape); }
  /// The blocks at the times and bytes that they have in this shape.
  virtual StageProblem problem(const Parallelism &shape) = 0;
  /// The shape's blocks in stages, with as much memory as there is. Default: the solved problem.
  virtual StageSolution solve(const Parallelism &shape) { return plan::solve(problem(shape)); }
  /// More solutions of a shape, among which the finer model may like one better than the solution of `solve`. Those
  /// that take no less than `below` may be left out. Default: none.
  virtual std::vector<StageSolution> others(const Parallelism &shape, double below) { return {}; }
  /// Seconds of a solved shape by a finer model, which ranks the plans. Default: those of the search.
  virtual double refine(const Parallelism &shape, const StageSolution &solution) { return solution.seconds; }
  /// The seconds of `refine` if they are less than `below`; else any number that is at least `below`, which may cost
  /// less to find.
  virtual double refineBelow(const Parallelism &shape, const StageSolution &solution, double below) {
    return refine(shape, solution);
  }
  /// A solved shape's step event by event (StepSimulation.h); without events unless `record`. Empty: the pricer has
  /// none.
  virtual std::optional<cost::StepTimeline> timeline(const Parallelism &shape, const StageSolution &solution,
                                                     bool record = true) {
    return std::nullopt;
  }
};

struct ShapePlan {
  Parallelism shape;
  StageSolution stages;
  /// Seconds by the finer model.
  double seconds = 0;
};

struct ShapeResult {
  /// Best first by the finer model; empty if nothing fits.
  std::vector<ShapePlan> plans;
  /// Lower bound on the estimate of all shapes and cuts, and the estimate of the best plan.
  double lowerBound = 0, modelled = 0;
  /// Shapes in the space; those whose blocks were placed; those that were found not to fit the memory.
  size_t shapes = 0, solved = 0, infeasible = 0;
};

/// The best plan by the finer model, the `keep` best by the model of the search (two dozen, if the others take more
/// than twice as long as the best), and those that were priced on the way: at most `keep`, ranked by the finer
/// model. The first is what solving and pricing every shape would give. The
/// search runs on all cores where the pricer allows it, with the same result on one.
ShapeResult searchShapes(ShapeList shapes, ShapePricer &pricer, size_t keep = 100);

/// The `count` best plans by the finer model, and no others: what solving and pricing every shape would give. Of a few
/// plans this takes less time than searchShapes, which prices all plans that the model of the search likes.
ShapeResult searchBest(ShapeList shapes, ShapePricer &pricer, size_t count = 1);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_SHAPESEARCH_H
