//===- SearchReport.h - What a search found, and why the others lost
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every search ends in this value, whatever prices its plans: what was searched, the
// plans best first with the parts of their times and of their memory, the bound below
// which no plan is, and for each runner-up the reason why it lost, computed from the
// parts. One printer serves all searches (dtcc-plan). Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_SEARCHREPORT_H
#define DTCC_PLANNER_SEARCH_SEARCHREPORT_H

#include "planner/cost/Step.h"
#include "planner/schedule/Timeline.h"
#include "planner/search/ShapeSearch.h"
#include <functional>

namespace dtcc::plan {

/// Bytes on one device at the peak.
struct MemoryParts {
  double parameters = 0, gradients = 0, optimizer = 0;
  /// Saved activations.
  double activations = 0;
  /// Working memory: a layer that is recomputed, gathered units, logits.
  double working = 0;
  /// Communicators, contexts, and losses of allocators.
  double communicators = 0;
  /// Host memory or NVMe that the device uses. Not a part of total().
  double host = 0;
  double total() const { return parameters + gradients + optimizer + activations + working + communicators; }
};

/// A stage of the pipeline, or the whole step where there is one.
struct StageReport {
  size_t firstBlock = 0, blocks = 0;
  /// Blocks some of whose values are computed again.
  size_t recomputed = 0;
  /// Number of blocks whose saved activations are offloaded.
  size_t offloaded = 0;
  /// Seconds of a micro-batch, forward and backward.
  double seconds = 0;
  MemoryParts memory;
};

struct PlanReport {
  Parallelism shape;
  /// Parts of a step, of the rank that needs most: the search's estimate, or the forecast of the compiled program.
  cost::StepSeconds parts;
  /// Seconds of a step, to which `parts` add up.
  double seconds = 0;
  /// The estimate of the parts, where `parts` are those of the program: a plan that was compiled.
  std::optional<cost::StepSeconds> estimatedParts;
  /// Memory of the device that needs most: an estimate, or the memory of the compiled program.
  MemoryParts memory;
  /// The estimate, where `memory` is that of the program: a plan that is confirmed.
  std::optional<MemoryParts> estimated;
  /// Bytes of communicators that serve parameters alone beside others of the same ranks (exec-separate-parameters). An
  /// estimate counts them if the program may have them.
  double separateBytes = 0;
  /// Share of the operations of the forward pass that tp splits; 1 if it is not known.
  double splitByTensor = 1;
  bool fits = true;
  /// Bytes that the host lacks for what is left to it.
  double hostLack = 0;
  std::vector<StageReport> stages;
  /// The forecast of a step event by event, where it was recorded.
  cost::StepTimeline timeline;
  /// Reason why the plan is not the first, set by explainPlans.
  std::string reason;

  /// Replaces the estimated memory by that of the program: the arenas of `most`, and `separate` bytes of communicators
  /// that serve parameters alone.
  void confirm(const MemoryParts &most, double separate);
  /// Replaces the estimated time by that of the program. Its commands do not say what is recomputed: that part of the
  /// compute stays the estimate.
  void forecast(const cost::StepSeconds &step);
  /// Seconds of a step by the search's estimate, by which plans are searched and bounded.
  double estimatedSeconds() const { return estimatedParts ? estimatedParts->total() : seconds; }
  /// The plan with the time that the search estimates, to compare it with plans that were not compiled.
  PlanReport asEstimated() const;
  /// Times as long a step as with `best`: by their programs, or by the estimates of both where one has no program.
  double timesOf(const PlanReport &best) const;

  size_t recomputed() const;
  size_t offloaded() const;
};

/// A plan that the search liked better and that will not do: its program needs too much, or the compiler refuses it.
struct PassedPlan {
  Parallelism shape;
  std::string why;
};

/// The software that files are priced for, as tables name it: programs of this compiler.
inline constexpr const char *kOwnSoftware = "dtcc";

struct SearchReport {
  /// "llama3-8b", or the name of the file.
  std::string model;
  double parameters = 0;
  /// The cluster as --cluster names it, and its device kind.
  std::string cluster, device;
  /// The software whose habits the prices assume.
  std::string software = kOwnSoftware;
  int64_t devices = 1;
  /// Devices that the fast link joins.
  int64_t domain = 1;
  /// Bytes that a plan may use of a device; 0: not known.
  double memoryBytes = 0;
  /// Samples of a step, and tokens of a sample (0 if samples are no sequences).
  int64_t batch = 0;
  double sequence = 0;
  /// Floating-point operations of a step by the definition of the model (spmd::modelFlops), and those that a device can
  /// make in a second; 0: not known.
  double flops = 0, devicePeak = 0;
  /// Options that fixed a part of the plan, as the user wrote them: "--mesh=tp=2".
  std::vector<std::string> given;
  /// Caveat of the forecast: "tensor parallelism counts as compute". May be empty.
  std::string note;
  /// Changes beside the plan that would be much better, a line each (SearchHints.h).
  std::vector<std::string> hints;
  /// Best first: those that were compiled, by the forecasts of their programs; behind them the others, by their
  /// estimates. Those that fit stand before those that do not.
  std::vector<PlanReport> plans;
  /// Plans whose programs were compared to find the first, and plans of the search that were not compiled although
  /// their estimates are so near that a program could be faster.
  size_t compared = 0, uncompared = 0;
  /// Share by which an estimate may be too high, as the comparison takes it.
  double estimateError = 0;
  /// Plans that ranked before the first of `plans` and were passed over.
  std::vector<PassedPlan> passed;
  /// No plan is estimated below this; 0: no bound.
  double lowerBound = 0;
  /// Ways to split ops over ranks that were placed, and those whose placement is not proven best: the bound is of plans
  /// with the placements that were found.
  size_t placements = 0, unproven = 0;
  /// Shapes in the space; those whose blocks were placed; those that do not fit.
  size_t shapes = 0, placed = 0, infeasible = 0;

  /// How far the estimate of the best plan is above the bound, as a share of it.
  double gap() const {
    return lowerBound > 0 && !plans.empty() ? plans.front().estimatedSeconds() / lowerBound - 1 : 0;
  }
  /// Tokens a second of a plan, on all devices; 0 if samples are no sequences.
  double tokensPerSecond(const PlanReport &plan) const {
    return plan.seconds > 0 ? double(batch) * sequence / plan.seconds : 0;
  }
  /// Model FLOP/s of a plan on one device, and its share of the peak (MFU); 0: not known.
  double flopsPerSecond(const PlanReport &plan) const {
    return plan.seconds > 0 ? flops / plan.seconds / double(devices) : 0;
  }
  double utilisation(const PlanReport &plan) const { return devicePeak > 0 ? flopsPerSecond(plan) / devicePeak : 0; }
  /// Bytes that a device lacks for the plan; 0 if it fits.
  double excess(const PlanReport &plan) const;
  /// A plan of `plans` in words that no other of them has: its shape, and the blocks that it recomputes if another has
  /// the same shape.
  std::string nameOf(const PlanReport &plan) const;
};

/// The stages of a solved shape, their time and memory, and the memory of the fullest. State
/// is split like `state`, whose sum may be anything above 0. `recomputes` says whether a block of a type computes any
/// of its values again in a mode.
void describeStages(const StageProblem &problem, const StageSolution &solution, const MemoryParts &state,
                    PlanReport &report, const std::function<bool(uint32_t type, uint32_t mode)> &recomputes);

/// Explains why `plan` is behind `best`: at most two longer parts of its time with their causes
/// ("+0.40 s bubble: 8 micro-batches over 16 stages"), and the part that is reduced most, if
/// any; or the memory that the plan lacks, with the largest part of its memory. Times are compared as by
/// PlanReport::timesOf.
std::string whyBehind(const PlanReport &plan, const PlanReport &best, const SearchReport &report);

/// Says how many bytes the plan that needs least lacks of the `usable` bytes of a device: "the nearest, dp=8 zero=3
/// microbatches=1, lacks 14.7 GiB: a device holds 92.3 GiB (optimizer 52.0 GiB, activations 20.1 GiB) and may use
/// 77.6 GiB". If host memory lacks bytes, the text says so likewise.
std::string whatIsLacking(const PlanReport &nearest, double usable);

/// Fills in the reasons of all plans but the first.
void explainPlans(SearchReport &report);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_SEARCHREPORT_H
