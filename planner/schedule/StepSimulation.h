//===- StepSimulation.h - A step of a pipeline, event by event
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the actions of a schedule on streams: each rank of the pipeline stands for all that
// hold the same stages, and computes, communicates and sends messages at once. Parameters
// in shares are gathered one unit ahead, gradients reduced beside the last backward pass,
// messages and collectives share the links of their device. What closed formulas
// (StageProblem.h, cost/Step.h) take as a whole, waits that depend on each other, comes out
// as it falls. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SCHEDULE_STEPSIMULATION_H
#define DTCC_PLANNER_SCHEDULE_STEPSIMULATION_H

#include "planner/cost/Step.h"
#include "planner/schedule/Schedule.h"
#include "planner/schedule/Timeline.h"

namespace dtcc::plan {

/// A unit that is gathered and scattered as a whole: a layer, or a stage if nothing is sharded. Seconds are of one
/// micro-batch; recomputation counts to the input gradient.
struct SimulatedUnit {
  double forward = 0, inputGradient = 0, weightGradient = 0;
  /// Gathers of the parameters for the forward and for the backward pass, and the scatter of the gradients after it.
  double gatherForward = 0, gatherBackward = 0, scatter = 0;
  double backward() const { return inputGradient + weightGradient; }
};

/// The end of a step on a rank of the pipeline.
struct SimulatedEnd {
  double reduce = 0, update = 0, gather = 0;
};

/// Link of a device for a transfer: within the node, or out of it.
enum class SimulatedLink { Node, Network };

/// The boundary between a stage and the next, as messages across it meet it.
struct StageBoundary {
  /// The seconds of a message to the next stage, and of one back.
  double seconds = 0;
  /// The link of sender and receiver that a message takes, and the share of it that it takes while nothing else uses
  /// it.
  SimulatedLink link = SimulatedLink::Network;
  double share = 1;
};

struct SimulatedStep {
  /// In the order of the forward pass; the schedule says which rank has which.
  std::vector<std::vector<SimulatedUnit>> stages;
  /// End of the step, for each rank of the pipeline.
  std::vector<SimulatedEnd> ends;
  /// For each stage but the last; empty: messages take no time.
  std::vector<StageBoundary> boundaries;
  /// The share of a message in which its sender waits.
  double sendBlocks = 0;
  /// The link of a collective over the ranks that hold the same parameters, and the share of it that it takes while
  /// nothing else uses it.
  SimulatedLink dataLink = SimulatedLink::Network;
  double dataShare = 1;
  /// Neighbouring ranks of the pipeline whose nodes' ports are one for all.
  int64_t portSharers = 1;
  /// Reductions begin when this share of a stage's last backward pass is left; 0: when the rank has
  /// nothing more to compute.
  double reduceWindow = 0;
  /// Units are gathered one ahead; else each waits for its own.
  bool ahead = false;
  /// Share by which units in flight slow computation.
  double contended = 0;
  /// Before the first action of a rank.
  double hostSeconds = 0;
  /// All times are multiplied by it: ranks wait for the slowest of those that one stands for.
  double straggling = 1;

  /// Returns an error, or "": an action without a stage, a rank without an end, a time that is negative or no number.
  std::string check(const Schedule &schedule) const;
};

/// Requires that `schedule` and `step` passed their checks. Returns events only if `record`.
cost::StepTimeline simulate(const SimulatedStep &step, const Schedule &schedule, bool record = false);

/// A priced step as one to simulate: stages of each rank of the pipeline in `virtualStages` equal parts.
SimulatedStep simulatedStepOf(const cost::StepProblem &problem, const cost::Constants &constants,
                              const cost::Calibration &calibration = {});

/// Makes a step with given stages in the order of the forward pass. Each stage lists its layers in order; the layers
/// are units if ZeRO shards parameters. `problem` has the stages of each rank together.
SimulatedStep simulatedStepOf(const cost::StepProblem &problem, const std::vector<std::vector<size_t>> &stages,
                              const cost::Constants &constants);

/// Combines one step as several device kinds run it into a step in which each rank of the pipeline lies on its kind.
/// Messages between stages take as long as those of the slowest kind.
SimulatedStep onKinds(const std::vector<SimulatedStep> &kinds, const std::vector<size_t> &kindOfRank);

/// The schedule by which plan::Parallelism runs; that of one stage is 1F1B.
llvm::Expected<Schedule> scheduleOf(const plan::Parallelism &plan);

/// A step under the schedule of `plan`. Many micro-batches without `record` are simulated in part: once a pipeline has
/// settled, each round of it takes as long as the one before.
llvm::Expected<cost::StepTimeline> simulate(const SimulatedStep &step, const plan::Parallelism &plan,
                                            bool record = false);

/// The step of `problem` under its schedule.
llvm::Expected<cost::StepTimeline> simulate(const cost::StepProblem &problem, const cost::Constants &constants,
                                            const cost::Calibration &calibration = {}, bool record = false);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SCHEDULE_STEPSIMULATION_H
