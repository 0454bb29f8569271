//===- RelaxedModes.h - The least time of blocks that may mix their modes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which block keeps what is a knapsack of groups. If blocks may take fractions of modes, the fastest choice is found by
// exchanging seconds for bytes where a byte costs fewest seconds (Sinha and Zoltners 1979): a lower bound in the time
// of a pass over the types. Fronts and stages are only made where it allows something better.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_RELAXEDMODES_H
#define DTCC_PLANNER_PROBLEM_RELAXEDMODES_H

#include "planner/problem/StageProblem.h"

namespace dtcc::plan {

class RelaxedModes {
public:
  /// Sums of the same terms in another order differ in their last bits: bounds allow for so much.
  static constexpr double kSlack = 1e-9;

  /// The fastest mode of a type, and its bytes where several are as fast.
  struct Fastest {
    double seconds = 0, heldBytes = 0;
  };
  /// Adds the next type, whose blocks may mix these modes: at least one.
  void addType(const std::vector<BlockMode> &modes);
  /// Adds the next type, of which no run has blocks.
  void skipType() { types.emplace_back(); }
  /// Sorts what was added.
  void finish();
  const Fastest &fastestOf(uint32_t type) const { return types[type]; }

  /// The least time of a run that holds at most `bytes`; infinity if it cannot. Of each type the run has counts[type]
  /// blocks, in their fastest modes as in `all`.
  template <typename Counts> double secondsWithin(const Counts &counts, Fastest all, double bytes) const;

private:
  /// Fewer bytes for more seconds: a part of the lower hull of a type's modes.
  struct Exchange {
    uint32_t type;
    double bytes, seconds;
  };
  std::vector<Fastest> types;
  /// Sorted by rising seconds for a byte.
  std::vector<Exchange> exchanges;
};

template <typename Counts> double RelaxedModes::secondsWithin(const Counts &counts, Fastest all, double bytes) const {
  if (bytes < 0)
    return kNever;
  double seconds = all.seconds, tooMany = all.heldBytes - bytes * (1 + kSlack);
  for (const Exchange &each : exchanges) {
    if (tooMany <= 0)
      return seconds;
    double most = double(counts[each.type]) * each.bytes;
    if (most <= 0)
      continue;
    double share = tooMany < most ? tooMany / most : 1;
    seconds += share * double(counts[each.type]) * each.seconds;
    tooMany -= share * most;
  }
  return tooMany > kSlack * all.heldBytes ? kNever : seconds;
}

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_RELAXEDMODES_H
