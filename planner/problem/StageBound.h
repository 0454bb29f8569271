//===- StageBound.h - Lower bounds on the time of any cut into stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search over shapes solves only the stage problems whose bound is below the best plan. The quick bound costs next to
// nothing, but knows neither that stages hold whole blocks nor that little memory makes blocks compute again. The close
// bound knows both, for about a hundredth of the price of a solution.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_STAGEBOUND_H
#define DTCC_PLANNER_PROBLEM_STAGEBOUND_H

#include "planner/problem/RelaxedModes.h"

namespace dtcc::plan {

/// Lower bound on the seconds of all solutions: every block in its fastest mode on its fastest class, in equal stages.
/// Infinity if the state alone is too large. Costs next to nothing.
double quickBound(const StageProblem &problem);

/// Lower bound on the seconds of all solutions, never below quickBound but for rounding: stages hold whole blocks, and
/// the blocks of a stage fit its memory in the fastest mixture of modes, of which a block may take fractions.
/// Infinity if no such stages exist; then there is no solution. Devices of several classes count as the best of each.
/// Stages that are dealt out (StageProblem::isDealt) are equal, as for quickBound.
double closeBound(const StageProblem &problem);

/// The problem with modes that blocks may mix: bounds on the loads of stages.
class RelaxedStages {
public:
  /// The memory of the devices is that of now.
  explicit RelaxedStages(const StageProblem &problem);
  /// Blocks as a sum; it grows block by block.
  struct Run {
    std::vector<double> counts;
    /// `tailSeconds` has the filled seconds too.
    double seconds = 0, heldBytes = 0, stateBytes = 0, workingBytes = 0, tailSeconds = 0;
  };
  /// Makes a run empty.
  void clear(Run &run) const;
  void add(Run &run, uint32_t type) const;
  /// No stage that holds the run has a lower load: rounds * seconds, messages and tail. Infinity if the run does not
  /// fit.
  double loadOf(const Run &run, size_t stage) const;
  double bound() const;

private:
  /// The least time of a run that holds at most `bytes`; infinity if it cannot.
  double secondsWithin(const Run &run, double bytes) const {
    return relaxed.secondsWithin(run.counts, {run.seconds, run.heldBytes}, bytes);
  }
  /// Whether all blocks fit into stages none of which has a load above `limit`. Stages that hold as many blocks as they
  /// can leave least to the others.
  bool fits(double limit) const;

  const StageProblem &problem;
  RelaxedModes relaxed;
  /// The least working memory of any mode of a type.
  std::vector<double> workingBytes;
  double memory = 0, send = kNever;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_STAGEBOUND_H
