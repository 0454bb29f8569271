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

#include "planner/problem/StageProblem.h"

namespace dtcc::plan {

/// Lower bound on the seconds of all solutions: every block in its fastest mode on its fastest class, in equal stages.
/// Infinity if the state alone is too large. Costs next to nothing.
double quickBound(const StageProblem &problem);

/// Lower bound on the seconds of all solutions, never below quickBound but for rounding: stages hold whole blocks, and
/// the blocks of a stage fit its memory in the fastest mixture of modes, of which a block may take fractions.
/// Infinity if no such stages exist; then there is no solution. Devices of several classes count as the best of each.
double closeBound(const StageProblem &problem);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_STAGEBOUND_H
