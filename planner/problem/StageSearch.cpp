//===- StageSearch.cpp - The dynamic program over stages, positions and classes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/ModeFront.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace dtcc::plan {

class StageSolver::Search {
public:
  explicit Search(const StageProblem &problem);
  StageSolution run(unsigned maxRounds);

private:
  /// Least sum of times of stages, then least greatest load, with every load at most
  /// `most`. False if there is no such placement.
  bool place(double most);
  /// The least greatest load of any placement.
  double leastLoad();
  template <typename Better> void sweep(double most, Better better);

  size_t count() const { return problem.blocks.size(); }
  void makeContents();
  void makeSpans();
  ModeFronts::Room roomFor(size_t from, size_t to, size_t stage, size_t device) const;
  void readBack();

  const StageProblem &problem;
  ModeFronts fronts;
  /// Per run of blocks [from, to): its number among the fronts, its state, its tail.
  struct Content {
    uint32_t run = 0;
    double stateBytes = 0, tail = 0;
  };
  std::vector<Content> contents;
  const Content &content(size_t from, size_t to) const { return contents[from * (count() + 1) + to]; }
  /// A run of blocks on a class at a place in the pipeline.
  struct Span {
    double seconds = kNever; // a micro-batch, with sending
    double load = kNever;    // rounds * seconds + tail
  };
  std::vector<Span> spans;
  Span &span(size_t stage, size_t from, size_t to, size_t device) {
    return spans[((stage * count() + from) * (count() + 1) + to) * problem.classes.size() + device];
  }

  /// Stages of each class that are used, as one number, and the number that one more of a class adds.
  std::vector<size_t> places, weight;
  size_t uses = 1;
  bool mayUse(size_t use, size_t device) const { return use / weight[device] % (places[device] + 1) < places[device]; }
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
    weight.push_back(uses);
    uses *= places.back() + 1;
  }
  makeContents();
}

ModeFronts::Room StageSolver::Search::roomFor(size_t from, size_t to, size_t stage, size_t device) const {
  return {problem.classes[device].memoryBytes - content(from, to).stateBytes, problem.inFlight[stage]};
}

void StageSolver::Search::makeContents() {
  contents.resize(count() * (count() + 1));
  // Every stage before and after needs a block.
  size_t others = problem.stages() - 1;
  for (size_t from = 0; from < (others > 0 ? count() : 1); ++from) {
    ModeFronts::Counts counts(problem.types.size());
    double state = 0, tail = 0;
    for (size_t to = from + 1; to <= count(); ++to) {
      const BlockType &type = problem.types[problem.blocks[to - 1]];
      ++counts[problem.blocks[to - 1]];
      state += type.stateBytes;
      tail += type.tailSeconds;
      if (others > 0 || to == count())
        contents[from * (count() + 1) + to] = {fronts.runOf(counts), state, tail};
    }
  }
}

void StageSolver::Search::makeSpans() {
  spans.assign(problem.stages() * count() * (count() + 1) * problem.classes.size(), {});
  for (size_t stage = 0; stage < problem.stages(); ++stage) {
    bool isLast = stage + 1 == problem.stages();
    for (size_t from = stage; from < (stage ? count() : 1); ++from)
      for (size_t to = isLast ? count() : from + 1; to + (problem.stages() - 1 - stage) <= count(); ++to)
        for (size_t device = 0;
             problem.mayBegin(stage, from) && problem.mayEnd(stage, to) && device < problem.classes.size(); ++device) {
          ModeFronts::Room room = roomFor(from, to, stage, device);
          if (room.bytes < 0)
            continue;
          Span &span = this->span(stage, from, to, device);
          span.seconds = fronts.secondsWithin(content(from, to).run, device, room) +
                         (isLast ? 0 : problem.types[problem.blocks[to - 1]].sendSeconds);
          span.load = problem.rounds * span.seconds + content(from, to).tail;
        }
  }
}

template <typename Better> void StageSolver::Search::sweep(double most, Better better) {
  cells.assign((problem.stages() + 1) * (count() + 1) * uses, {});
  cell(0, 0, 0) = {0, 0, 0, 0};
  for (size_t stage = 0; stage < problem.stages(); ++stage)
    for (size_t from = stage; from < (stage ? count() : 1); ++from)
      for (size_t use = 0; use < uses; ++use) {
        const Cell before = cell(stage, from, use);
        if (before.sum == kNever)
          continue;
        for (size_t to = from + 1; to + (problem.stages() - 1 - stage) <= count(); ++to)
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
  double seconds = end.load + problem.ramp * end.sum;
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

StageSolution StageSolver::Search::run(unsigned maxRounds) {
  best = {};
  best.seconds = kNever;
  makeSpans();
  double leastOfLoads = leastLoad();
  if (leastOfLoads == kNever) {
    best.lowerBound = kNever;
    return best;
  }
  // Sums grow as the bound of the loads falls: with the sum of this round, nothing under
  // a lower bound can end sooner than the least load and that sum.
  double most = kNever, rest = 0;
  for (unsigned round = 0; round < maxRounds && most >= leastOfLoads && place(most); ++round) {
    size_t use;
    const Cell end = *bestEnd(use);
    readBack();
    rest = leastOfLoads + problem.ramp * end.sum;
    if (rest >= best.seconds)
      break;
    // Only a lower greatest load can make up for a greater sum.
    most = std::min(std::nextafter(end.load, 0.0), best.seconds - problem.ramp * end.sum);
    if (round + 1 == maxRounds) {
      best.lowerBound = std::min(rest, best.seconds);
      return best;
    }
  }
  best.lowerBound = best.seconds;
  return best;
}

StageSolver::StageSolver(const StageProblem &problem) : search(std::make_unique<Search>(problem)) {
  assert(problem.check().empty() && "check the problem first");
}

StageSolver::~StageSolver() = default;

StageSolution StageSolver::solve(unsigned maxRounds) { return search->run(maxRounds); }

StageSolution solve(const StageProblem &problem, unsigned maxRounds) { return StageSolver(problem).solve(maxRounds); }

} // namespace dtcc::plan
