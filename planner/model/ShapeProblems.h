//===- ShapeProblems.h - The stage problem of a shape on one device kind
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the prices of blocks into the problem that planner/problem solves: seconds, state and saved bytes of every
// block in every mode, and the memory limit of a device. Also computes the memory of each rank for a solution.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_SHAPEPROBLEMS_H
#define DTCC_PLANNER_MODEL_SHAPEPROBLEMS_H

#include "planner/model/PlacementCache.h"
#include "planner/schedule/Schedule.h"
#include "planner/search/SearchReport.h"
#include <set>
#include <tuple>

namespace dtcc::spmd {

class ShapeProblems {
public:
  ShapeProblems(const GraphFacts &facts, PlacementCache &placements);

  /// `only`: every block is in this mode, whose number all modes of the problem then stand for; absent: in any.
  plan::StageProblem make(const plan::Parallelism &shape, std::optional<uint32_t> only = std::nullopt) {
    plan::StageProblem problem;
    make(shape, only, problem);
    return problem;
  }
  /// Makes the same out of a problem of another shape, whose memory is used again: a search bounds millions of shapes.
  void make(const plan::Parallelism &shape, std::optional<uint32_t> only, plan::StageProblem &problem);
  /// Has the graph as many blocks as the shape has stages, and can plans be of its kind?
  bool canBeCut(const plan::Parallelism &shape) const {
    return isAllowed(shape) && facts.stagesOf(shape) <= int64_t(facts.input.blocks.blocks().size());
  }
  /// The question to the cost model about a shape, without its layers, which PricedStep has.
  cost::StepProblem stepOf(const plan::Parallelism &shape) const;
  /// Bytes of state of a block.
  plan::MemoryParts stateOf(const plan::Parallelism &shape, const BlockMemory &block) const;
  /// The first blocks of all stages but the first.
  std::vector<size_t> cutsOf(const plan::Parallelism &shape, const plan::StageSolution &solution);
  std::vector<size_t> cutsOf(const plan::Parallelism &shape, const plan::StageProblem &problem,
                             const plan::StageSolution &solution) const;
  /// The rank of the pipeline that runs a stage.
  size_t rankOfStage(const plan::Parallelism &shape, size_t stage) const;
  /// The seconds of a solution whose stages are dealt out to the ranks: those of plan::costOf, with the load of each
  /// rank that of its stages.
  double secondsAsDealt(const plan::Parallelism &shape, const plan::StageProblem &problem,
                        const plan::StageSolution &solution) const;
  /// Memory by rank of the pipeline, of the stages as they are cut.
  std::vector<plan::MemoryParts> memoryByRank(const plan::Parallelism &shape, const plan::StageProblem &problem,
                                              const plan::StageSolution &solution);

private:
  /// Whether parameters change, and their gradients leave memory, during the backward pass
  /// (passes/spmd/partition/UpdatePhase.h).
  bool hasEarlyUpdates(const plan::Parallelism &shape) const;
  /// Whether whole gradients leave memory during the backward pass: they are reduced to shards, or used up by updates.
  bool freesGradients(const plan::Parallelism &shape) const;
  bool isAllowed(const plan::Parallelism &shape) const {
    return shape.pp == 1 || allowed.contains({shape.zero, shape.schedule});
  }
  double unitBytes(const plan::Parallelism &shape, const std::vector<BlockMemory> &memories, size_t type) const;
  double hostOptimizerBytes(const plan::Parallelism &shape, const std::vector<BlockMemory> &memories) const;
  bool mayOffload(const plan::Parallelism &shape, const cost::StepProblem &step,
                  const std::vector<BlockMemory> &memories, double inFlight) const;
  std::vector<double> sharesOfHeld(const plan::Parallelism &shape, const std::vector<BlockMemory> &memories,
                                   llvm::ArrayRef<plan::Recompute> modes) const;
  /// The schedule of a shape with virtual stages, and the most micro-batches in flight of each rank; one counts once in
  /// each stage.
  struct VirtualFlights {
    plan::Schedule schedule;
    std::vector<int64_t> ofRanks;
  };
  const VirtualFlights &flightsOf(const plan::Parallelism &shape);

  // The parts of `make`.
  struct PricedShape;
  PricedShape price(const plan::Parallelism &shape, std::optional<uint32_t> only);
  bool isOffloaded(const PricedShape &priced, size_t type, uint32_t mode) const;
  void setModes(const PricedShape &priced, size_t type, double working, std::vector<plan::BlockMode> &modes) const;
  void setType(const PricedShape &priced, size_t type, plan::BlockType &blocks) const;
  double longestBackward(const PricedShape &priced, size_t type) const;
  void setStepEnd(const PricedShape &priced, std::vector<plan::BlockType> &types) const;
  void setMemoryLimit(const PricedShape &priced, plan::StageProblem &problem) const;
  void setInFlight(const PricedShape &priced, std::vector<double> &inFlight);

  const GraphFacts &facts;
  PlacementCache &placements;
  /// Stages of ZeRO with the schedules that plans may have under them.
  std::set<std::pair<int, plan::PipelineKind>> allowed;
  /// Schedules are found by their ranks, virtual stages and micro-batches.
  std::map<std::tuple<int64_t, int64_t, int64_t>, VirtualFlights> flights;
  std::mutex flying;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_SHAPEPROBLEMS_H
