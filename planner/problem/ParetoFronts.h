//===- ParetoFronts.h - The modes of a run of blocks that nothing beats
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

#ifndef DTCC_PLANNER_PROBLEM_PARETOFRONTS_H
#define DTCC_PLANNER_PROBLEM_PARETOFRONTS_H

#include "planner/problem/RelaxedModes.h"
#include <limits>
#include <optional>
#include <unordered_map>

namespace dtcc::plan {

class ParetoFronts {
public:
  /// The memory of the problem's devices may fall while runs are asked about.
  explicit ParetoFronts(const StageProblem &problem);

  /// A number for a run of blocks by its content: per type, how many.
  using Counts = std::vector<uint16_t>;
  uint32_t runOf(const Counts &counts);

  /// Memory available to a run: bytes for the saved activations of its blocks, for each micro-batch in flight, and for
  /// the working memory of the block that runs.
  struct Room {
    double bytes = 0, inFlight = 1;
  };
  /// The least time of the run on a class that has room for it; infinity if it does not fit.
  double secondsWithin(uint32_t run, uint32_t deviceClass, Room room) { return best(run, deviceClass, room).seconds; }
  /// The modes of that least time: per type, the modes of its blocks. The run must fit.
  std::vector<std::vector<uint32_t>> modesWithin(uint32_t run, uint32_t deviceClass, Room room);

private:
  struct Point {
    double heldBytes, seconds;
    /// The point of the run with one block less, and the mode of that block.
    uint32_t before, mode;
  };
  /// Points by rising bytes and falling time.
  using Front = std::vector<Point>;
  /// Every block in its fastest mode.
  struct Fastest {
    double heldBytes = 0, seconds = 0;
    bool exists = true;
  };
  /// Numbers of what may be needed by a block at work, and of a device's class with that.
  using Place = uint32_t;
  size_t places() const { return problem.classes.size() * levels.size(); }
  Place placeOf(uint32_t deviceClass, size_t level) const { return deviceClass * levels.size() + level; }
  uint32_t classOf(Place place) const { return place / levels.size(); }
  double neededBy(uint32_t type, uint32_t deviceClass, uint32_t mode) const;
  bool isAllowed(Place place, uint32_t type, uint32_t mode) const {
    return neededBy(type, classOf(place), mode) <= levels[place % levels.size()];
  }
  void findLevels();
  void findFastest(Place place);
  /// With one of the levels.
  struct Best {
    double seconds = std::numeric_limits<double>::infinity();
    size_t level = 0;
  };
  Best best(uint32_t run, uint32_t deviceClass, Room room);
  /// No assignment of the run at this place that holds at most `bytes` takes less, but for rounding. Costs a pass over
  /// the types.
  double leastWithin(uint32_t run, Place place, double bytes);
  const Fastest &fastestOf(uint32_t run, Place place);
  bool fitsFastest(uint32_t run, Place place, double bytes);
  struct Hash {
    size_t operator()(const Counts &counts) const {
      size_t hash = 0xcbf29ce484222325;
      for (uint16_t count : counts)
        hash = (hash ^ count) * 0x100000001b3;
      return hash;
    }
  };
  struct Run {
    const Counts *counts;
    /// The run without its last block, of the highest type; none for the empty run.
    std::optional<uint32_t> before;
    uint32_t type = 0;
    double stateBytes = 0;
  };

  class Extension;
  Front extend(const Front &before, uint32_t type, Place place, double most);
  double mostBytes(uint32_t run, Place place) const;
  const Front &frontOf(uint32_t run, Place place);
  const Point *pointWithin(uint32_t run, Place place, double bytes);

  const StageProblem &problem;
  /// Micro-batches in flight where they are fewest.
  double leastInFlight;
  std::vector<Run> runs;
  std::unordered_map<Counts, uint32_t, Hash> numbers;
  /// Per run and class: the first level that allows each block some mode, and that from which on all modes are allowed.
  std::vector<std::pair<size_t, size_t>> levelsOfRuns;
  /// The fronts by run and place. A front is made when it is asked for: most places are of no use to a run.
  std::unordered_map<uint64_t, Front> fronts;
  /// The one that is being made: it is kept in as much memory as it needs.
  Front growing;
  std::unordered_map<uint64_t, Fastest> fastestOfRuns;
  uint64_t keyOf(uint32_t run, Place place) const { return uint64_t(run) * places() + place; }
  /// Working bytes of blocks over all their modes, ascending. A stage needs the largest of its blocks, so a run is
  /// solved once per level, with the modes that need no more than the level.
  std::vector<double> levels;
  /// Per class and type, the first and the last of its modes' levels.
  std::vector<std::vector<std::pair<size_t, size_t>>> levelsOf;
  /// Per place and type the mode that is faster than all others by far more than sums round, where there is one. Where
  /// all blocks fit so, no front is needed: its last point is this one.
  std::vector<std::vector<uint32_t>> fastest;
  /// Per place, once it is asked for.
  std::vector<std::optional<RelaxedModes>> relaxed;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_PARETOFRONTS_H
