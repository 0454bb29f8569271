//===- EvenRuns.h - A row cut into runs of which the longest is least
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_EVENRUNS_H
#define DTCC_PLANNER_PROBLEM_EVENRUNS_H

#include <cstddef>
#include <vector>

namespace dtcc::plan {

/// The first blocks of all runs but the first, where the blocks of `seconds` are cut into `runs` runs so that the
/// longest takes least. Each run has a block at least, so there are at most as many runs as blocks. Of equal cuts the
/// one whose last run is longest, then the run before it, and so on.
std::vector<size_t> cutEvenly(const std::vector<double> &seconds, size_t runs);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_EVENRUNS_H
