//===- Stragglers.h - Ranks that compute slower than others -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks of a step take as long as the slowest, and the step's time does not say which that is. What does is the
// time that each rank spends on its own, without what it waits for others or exchanges with them. Ranks of one program
// do the same work: those of a pipeline's stage are compared with each other, not with other stages.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_HEALTH_STRAGGLERS_H
#define DTCC_RUNTIME_LAUNCH_HEALTH_STRAGGLERS_H

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace dtcc::rt {

/// A rank that was slower than its like for some steps.
struct Straggler {
  int64_t rank;
  double seconds, median; /* means of a step */
};

class Stragglers {
public:
  /// A rank counts as slow after so many steps in a row in which it took so many times the median, and at least so many
  /// seconds more.
  static constexpr int64_t leastSteps = 20;
  static constexpr double leastRatio = 1.1, leastSeconds = 1e-3;

  /// `programs`: by rank, the number of the program that it runs.
  explicit Stragglers(const std::vector<int64_t> &programs);

  /// The ranks' own seconds of a step, by rank. Returns the ranks that have become slow by it. A rank is returned again
  /// only after as many steps in a row in which it was not slow.
  std::vector<Straggler> step(std::span<const double> seconds);

private:
  struct Record {
    int64_t slow = 0, even = leastSteps; /* steps in a row */
    double seconds = 0, median = 0;      /* sums over the slow ones */
  };
  std::map<int64_t, std::vector<int64_t>> alike; /* ranks by program */
  std::vector<Record> records;                   /* by rank */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_HEALTH_STRAGGLERS_H
