//===- StageSearch.cpp - The dynamic program over stages, positions and classes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages of a good solution take about as long as each other. The dynamic program therefore looks only at runs of
// blocks whose load is below a limit: as the load of a run grows with its blocks, each stage then begins within a
// narrow window. If the best solution shows that a greater load could still be better, the limit is raised to what that
// load may be, and the program runs once more.
//
//===----------------------------------------------------------------------===//

#include "planner/problem/ParetoFronts.h"
#include "planner/problem/StageBound.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>

namespace dtcc::plan {

class StageSolver::Search {
public:
  explicit Search(const StageProblem &problem);
  StageSolution run(unsigned maxRounds);

private:
  /// The best solution whose loads are at most `limit`; infeasible if there is none.
  void runWithin(double limit, unsigned maxRounds);
  /// Least sum of times of stages, then least greatest load, with every load at most
  /// `most`. False if there is no such placement.
  bool place(double most);
  /// The least greatest load of any placement.
  double leastLoad();
  template <typename Better> void sweep(double most, Better better);

  size_t count() const { return problem.blocks.size(); }
  /// A run of blocks [from, to): its number among the fronts, its state, its tail with the filled seconds.
  struct Content {
    uint32_t run = 0;
    double stateBytes = 0, tail = 0;
  };
  const Content &content(size_t from, size_t to);
  bool makeWindows(double limit);
  void makeSpans(double limit);
  ParetoFronts::Room roomFor(size_t from, size_t to, size_t stage, size_t device);
  void readBack();

  const StageProblem &problem;
  ParetoFronts fronts;
  /// Most runs are too long for a stage by a bound already.
  std::optional<RelaxedStages> relaxed;
  /// Least seconds of the modes of a type; the blocks of each type before each block.
  std::vector<double> leastOfType;
  std::vector<ParetoFronts::Counts> before;
  std::vector<std::optional<Content>> contents;
  /// Least sum of the times of all blocks; a load that no placement exceeds; the filled seconds of all blocks.
  double leastSum = 0, greatestLoad = 0, filled = 0;

  /// Per stage, and behind the last: where it may begin.
  struct Window {
    size_t first = 0, last = 0;
    size_t size() const { return last + 1 - first; }
  };
  std::vector<Window> windows;
  /// A run of blocks on a class at a place in the pipeline.
  struct Span {
    double seconds = kNever; // a micro-batch
    double load = kNever;    // rounds * seconds, messages, tail
  };
  std::vector<Span> spans;
  /// Per stage, its first span.
  std::vector<size_t> firstSpans;
  Span &span(size_t stage, size_t from, size_t to, size_t device) {
    const Window &begin = windows[stage], &end = windows[stage + 1];
    return spans[firstSpans[stage] + ((from - begin.first) * end.size() + (to - end.first)) * problem.classes.size() +
                 device];
  }

  /// Stages of each class that are used, as one number, and the number that one more of a class adds. A class that has
  /// devices for all stages never runs out and is not counted: it adds 0.
  std::vector<size_t> places, weight;
  size_t uses = 1;
  bool mayUse(size_t use, size_t device) const {
    return weight[device] == 0 || use / weight[device] % (places[device] + 1) < places[device];
  }
  /// Best result of the first `stage` stages, which hold the first `end` blocks.
  struct Cell {
    double sum = kNever, load = kNever;
    uint32_t from = 0, device = 0;
  };
  std::vector<Cell> cells;
  Cell &cell(size_t stage, size_t end, size_t use) { return cells[(stage * (count() + 1) + end) * uses + use]; }
  /// The best end over all uses.
  Cell *bestEnd(size_t &use);

  StageSolution best;
};

StageSolver::Search::Search(const StageProblem &problem) : problem(problem), fronts(problem) {
  for (const DeviceClass &each : problem.classes) {
    places.push_back(std::min<size_t>(each.stages, problem.stages()));
    bool suffices = places.back() == problem.stages();
    weight.push_back(suffices ? 0 : uses);
    uses *= suffices ? 1 : places.back() + 1;
  }
  std::vector<double> mostOfType;
  for (const BlockType &type : problem.types) {
    leastOfType.push_back(kNever);
    mostOfType.push_back(0);
    for (const std::vector<BlockMode> &modes : type.modes)
      for (const BlockMode &mode : modes) {
        leastOfType.back() = std::min(leastOfType.back(), mode.seconds);
        mostOfType.back() = std::max(mostOfType.back(), mode.seconds);
      }
  }
  before.emplace_back(problem.types.size());
  double mostSend = 0;
  filled = problem.filledSeconds();
  for (uint32_t type : problem.blocks) {
    before.push_back(before.back());
    ++before.back()[type];
    leastSum += leastOfType[type];
    greatestLoad +=
        problem.rounds * mostOfType[type] + problem.types[type].filledSeconds + problem.types[type].tailSeconds;
    mostSend = std::max(mostSend, problem.types[type].sendSeconds);
  }
  greatestLoad += mostSend;
  contents.resize(count() * (count() + 1));
}

const StageSolver::Search::Content &StageSolver::Search::content(size_t from, size_t to) {
  std::optional<Content> &known = contents[from * (count() + 1) + to];
  if (known)
    return *known;
  ParetoFronts::Counts counts = before[to];
  Content content{0, 0, 0};
  for (size_t type = 0; type < counts.size(); ++type) {
    counts[type] -= before[from][type];
    content.stateBytes += counts[type] * problem.types[type].stateBytes;
    content.tail += counts[type] * (problem.types[type].filledSeconds + problem.types[type].tailSeconds);
  }
  content.run = fronts.runOf(counts);
  return known.emplace(content);
}

ParetoFronts::Room StageSolver::Search::roomFor(size_t from, size_t to, size_t stage, size_t device) {
  return {problem.classes[device].memoryBytes - content(from, to).stateBytes, problem.inFlight[stage]};
}

/// Finds where stages may begin if no load is above `limit`: not behind what the stages before can hold, and not before
/// what the stages from there on can. False if there is no such placement.
bool StageSolver::Search::makeWindows(double limit) {
  size_t stages = problem.stages();
  RelaxedStages::Run run;
  auto takes = [&](size_t stage, size_t block) {
    relaxed->add(run, problem.blocks[block]);
    return relaxed->loadOf(run, stage) <= limit;
  };
  windows.assign(stages + 1, {});
  windows[stages] = {count(), count()};
  for (size_t stage = 0; stage + 1 < stages; ++stage) {
    size_t from = windows[stage].last, to = from;
    relaxed->clear(run);
    while (to + (stages - 1 - stage) < count() && takes(stage, to))
      ++to;
    if (to == from)
      return false;
    windows[stage + 1].last = to;
  }
  for (size_t stage = stages; stage-- > 0;) {
    size_t to = windows[stage + 1].first, from = to;
    relaxed->clear(run);
    while (from > stage && takes(stage, from - 1))
      --from;
    if (from == to || from > windows[stage].last)
      return false;
    windows[stage].first = from;
  }
  return windows[0].first == 0;
}

void StageSolver::Search::makeSpans(double limit) {
  firstSpans.clear();
  size_t all = 0;
  for (size_t stage = 0; stage < problem.stages(); ++stage) {
    firstSpans.push_back(all);
    all += windows[stage].size() * windows[stage + 1].size() * problem.classes.size();
  }
  spans.assign(all, {});
  RelaxedStages::Run blocks;
  const size_t classes = problem.classes.size();
  /// Seconds at the present stage by the number of a run and the class, of those that were asked about: the runs of a
  /// window are of few kinds, because layers repeat.
  std::vector<std::optional<double>> known;
  for (size_t stage = 0; stage < problem.stages(); ++stage) {
    known.clear();
    bool isLast = stage + 1 == problem.stages();
    const Window &end = windows[stage + 1];
    for (size_t from = windows[stage].first; from <= windows[stage].last; ++from) {
      relaxed->clear(blocks);
      for (size_t to = from + 1; to <= end.last; ++to) {
        relaxed->add(blocks, problem.blocks[to - 1]);
        if (to < end.first)
          continue;
        if (relaxed->loadOf(blocks, stage) > limit)
          break;
        const Content &run = content(from, to);
        if (!problem.mayBegin(stage, from) || !problem.mayEnd(stage, to))
          continue;
        known.resize(std::max(known.size(), (run.run + 1) * classes));
        for (size_t device = 0; device < classes; ++device) {
          ParetoFronts::Room room = roomFor(from, to, stage, device);
          if (room.bytes < 0)
            continue;
          std::optional<double> &seconds = known[run.run * classes + device];
          if (!seconds)
            seconds = fronts.secondsWithin(run.run, device, room);
          Span &span = this->span(stage, from, to, device);
          span.seconds = *seconds;
          span.load = problem.rounds * span.seconds + (isLast ? 0 : problem.types[problem.blocks[to - 1]].sendSeconds) +
                      run.tail;
        }
      }
    }
  }
}

template <typename Better> void StageSolver::Search::sweep(double most, Better better) {
  cells.assign((problem.stages() + 1) * (count() + 1) * uses, {});
  cell(0, 0, 0) = {0, 0, 0, 0};
  for (size_t stage = 0; stage < problem.stages(); ++stage) {
    const Window &end = windows[stage + 1];
    for (size_t from = windows[stage].first; from <= windows[stage].last; ++from)
      for (size_t use = 0; use < uses; ++use) {
        const Cell before = cell(stage, from, use);
        if (before.sum == kNever)
          continue;
        for (size_t to = std::max(end.first, from + 1); to <= end.last; ++to)
          for (size_t device = 0; device < problem.classes.size(); ++device) {
            const Span &each = span(stage, from, to, device);
            if (each.load > most || each.load == kNever || !mayUse(use, device))
              continue;
            Cell next{before.sum + each.seconds, std::max(before.load, each.load), static_cast<uint32_t>(from),
                      static_cast<uint32_t>(device)};
            Cell &held = cell(stage + 1, to, use + weight[device]);
            if (better(next, held))
              held = next;
          }
      }
  }
}

StageSolver::Search::Cell *StageSolver::Search::bestEnd(size_t &bestUse) {
  Cell *found = nullptr;
  for (size_t use = 0; use < uses; ++use) {
    Cell &end = cell(problem.stages(), count(), use);
    if (end.sum != kNever && (!found || end.sum < found->sum || (end.sum == found->sum && end.load < found->load))) {
      found = &end;
      bestUse = use;
    }
  }
  return found;
}

double StageSolver::Search::leastLoad() {
  sweep(kNever, [](const Cell &a, const Cell &b) { return a.load < b.load; });
  double least = kNever;
  for (size_t use = 0; use < uses; ++use)
    least = std::min(least, cell(problem.stages(), count(), use).load);
  return least;
}

bool StageSolver::Search::place(double most) {
  sweep(most, [](const Cell &a, const Cell &b) { return a.sum != b.sum ? a.sum < b.sum : a.load < b.load; });
  size_t use;
  return bestEnd(use) != nullptr;
}

void StageSolver::Search::readBack() {
  size_t use = 0;
  Cell end = *bestEnd(use);
  double seconds = end.load + problem.ramp * end.sum - filled;
  if (seconds >= best.seconds)
    return;
  best.seconds = seconds;
  best.stages.assign(problem.stages(), {});
  best.modes.assign(count(), 0);
  for (size_t stage = problem.stages(), to = count(); stage-- > 0;) {
    StageSolution::Stage &each = best.stages[stage];
    each.firstBlock = end.from;
    each.deviceClass = end.device;
    each.seconds = span(stage, end.from, to, end.device).seconds;
    double held = 0, working = 0;
    auto modes = fronts.modesWithin(content(end.from, to).run, end.device, roomFor(end.from, to, stage, end.device));
    for (size_t i = to; i-- > end.from;) {
      uint32_t type = problem.blocks[i];
      best.modes[i] = modes[type].back();
      modes[type].pop_back();
      const BlockMode &mode = problem.types[type].modes[end.device][best.modes[i]];
      held += mode.heldBytes;
      working = std::max(working, problem.types[type].workingBytes + mode.workingBytes);
    }
    each.bytes = content(end.from, to).stateBytes + working + held * problem.inFlight[stage];
    use -= weight[end.device];
    to = end.from;
    end = cell(stage, to, use);
  }
}

void StageSolver::Search::runWithin(double limit, unsigned maxRounds) {
  best = {};
  best.seconds = best.lowerBound = kNever;
  if (!makeWindows(limit))
    return;
  makeSpans(limit);
  double leastOfLoads = leastLoad();
  if (leastOfLoads == kNever)
    return;
  // Sums grow as the bound of the loads falls: with the sum of this round, nothing under
  // a lower bound can end sooner than the least load and that sum.
  double most = kNever, rest = 0;
  for (unsigned round = 0; round < maxRounds && most >= leastOfLoads && place(most); ++round) {
    size_t use;
    const Cell end = *bestEnd(use);
    readBack();
    rest = leastOfLoads + problem.ramp * end.sum - filled;
    if (rest >= best.seconds)
      break;
    // Only a lower greatest load can make up for a greater sum.
    most = std::min(std::nextafter(end.load, 0.0), best.seconds + filled - problem.ramp * end.sum);
    if (round + 1 == maxRounds) {
      best.lowerBound = std::min(rest, best.seconds);
      return;
    }
  }
  best.lowerBound = best.seconds;
}

StageSolution StageSolver::Search::run(unsigned maxRounds) {
  /// Sums in another order differ in their last bits.
  constexpr double kSlack = 1 + 1e-9;
  // Loads of stages can be brought as near to their mean as the longest block is.
  double mean = 0, longest = 0;
  relaxed.emplace(problem);
  for (uint32_t block : problem.blocks) {
    const BlockType &type = problem.types[block];
    double load = problem.rounds * leastOfType[block] + type.filledSeconds + type.tailSeconds;
    mean += load / double(problem.stages());
    longest = std::max(longest, load);
  }
  for (double limit = mean + longest;; limit = 1.5 * limit + 0.01 * greatestLoad) {
    limit = std::min(limit, greatestLoad) * kSlack;
    runWithin(limit, maxRounds);
    if (!best.isInfeasible()) {
      // A solution that takes less than the best has no greater load than this.
      double most = (best.seconds + filled - problem.ramp * leastSum) * kSlack;
      if (most <= limit)
        return best;
      StageSolution first = std::move(best);
      runWithin(most, maxRounds);
      if (best.isInfeasible() || first.seconds < best.seconds) {
        first.lowerBound = std::min(first.seconds, best.lowerBound);
        best = std::move(first);
      }
      return best;
    }
    if (limit >= greatestLoad)
      return best;
  }
}

StageSolver::StageSolver(const StageProblem &problem) : search(std::make_unique<Search>(problem)) {
  assert(problem.check().empty() && "check the problem first");
}

StageSolver::~StageSolver() = default;

StageSolution StageSolver::solve(unsigned maxRounds) { return search->run(maxRounds); }

StageSolution solve(const StageProblem &problem, unsigned maxRounds) { return StageSolver(problem).solve(maxRounds); }

} // namespace dtcc::plan
