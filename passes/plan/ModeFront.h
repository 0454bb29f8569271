//===- ModeFront.h - The modes of a run of blocks that nothing beats
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All blocks of a stage share its memory: which of them keep what is a knapsack of
// groups. Of its assignments only those matter that no other beats in both time and held
// bytes; they depend on how many blocks of each type there are, not on where they stand.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_PLAN_MODEFRONT_H
#define DTCC_PASSES_PLAN_MODEFRONT_H

#include "passes/plan/StageProblem.h"
#include <optional>
#include <unordered_map>

namespace dtcc::plan {

class ModeFronts {
public:
  explicit ModeFronts(const StageProblem &problem);

  /// A number for a run of blocks by its content: per type, how many.
  using Counts = std::vector<uint16_t>;
  uint32_t runOf(const Counts &counts);

  /// The least time of the run on a class whose blocks may hold `bytes` together, per
  /// micro-batch; infinity if they cannot.
  double secondsWithin(uint32_t run, uint32_t deviceClass, double bytes);
  /// The modes of that least time: per type, the modes of its blocks. The run must fit.
  std::vector<std::vector<uint32_t>> modesWithin(uint32_t run, uint32_t deviceClass, double bytes);

private:
  struct Point {
    double heldBytes, seconds;
    /// The point of the run with one block less, and the mode of that block.
    uint32_t before, mode;
  };
  /// Every block in its fastest mode.
  struct Fastest {
    double heldBytes = 0, seconds = 0;
  };
  const Fastest &fastestOf(uint32_t run, uint32_t deviceClass);
  bool fitsFastest(uint32_t run, uint32_t deviceClass, double bytes);
  struct Hash {
    size_t operator()(const Counts &counts) const {
      size_t hash = 0xcbf29ce484222325;
      for (uint16_t count : counts)
        hash = (hash ^ count) * 0x100000001b3;
      return hash;
    }
  };
  /// Points by rising bytes and falling time.
  using Front = std::vector<Point>;
  struct Run {
    Counts counts;
    /// The run without its last block, of the highest type; none for the empty run.
    std::optional<uint32_t> before;
    uint32_t type = 0;
    std::vector<std::optional<Front>> fronts; // per class, made when asked for
    std::vector<std::optional<Fastest>> fastest;
  };

  class Extension;
  static Front merge(std::vector<Extension> &extensions);
  const Front &frontOf(uint32_t run, uint32_t deviceClass);
  const Point *pointWithin(uint32_t run, uint32_t deviceClass, double bytes);

  const StageProblem &problem;
  std::vector<Run> runs;
  std::unordered_map<Counts, uint32_t, Hash> numbers;
  /// Per class and type the mode that is faster than all others by far more than sums round; empty for a class where
  /// some type has none. Where all blocks fit so, no front is needed: its last point is this one.
  std::vector<std::vector<uint32_t>> fastest;
};

} // namespace dtcc::plan

#endif // DTCC_PASSES_PLAN_MODEFRONT_H
