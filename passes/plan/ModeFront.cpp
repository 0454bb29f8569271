//===- ModeFront.cpp - The modes of a run of blocks that nothing beats
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/ModeFront.h"
#include <algorithm>
#include <limits>
#include <tuple>

namespace dtcc::plan {

/// Sums of the same terms in another order differ in their last bits; without a tolerance
/// every order would be a point of its own.
static constexpr double kSame = 1e-12;
static constexpr double kNever = std::numeric_limits<double>::infinity();

ModeFronts::ModeFronts(const StageProblem &problem) : problem(problem), fastest(problem.classes.size()) {
  /// Of the time of all blocks in their slowest modes: what modes must differ by.
  constexpr double apart = 1e-9;
  for (size_t device = 0; device < problem.classes.size(); ++device) {
    double all = 0;
    for (uint32_t type : problem.blocks) {
      double most = 0;
      for (const BlockMode &mode : problem.types[type].modes[device])
        most = std::max(most, mode.seconds);
      all += most;
    }
    for (const BlockType &type : problem.types) {
      const std::vector<BlockMode> &modes = type.modes[device];
      auto best = std::min_element(modes.begin(), modes.end(),
                                   [](const BlockMode &a, const BlockMode &b) { return a.seconds < b.seconds; });
      bool isApart = std::all_of(modes.begin(), modes.end(), [&](const BlockMode &mode) {
        return mode == *best || mode.seconds > best->seconds + apart * all;
      });
      if (!isApart) {
        fastest[device].clear();
        break;
      }
      fastest[device].push_back(static_cast<uint32_t>(best - modes.begin()));
    }
  }
}

uint32_t ModeFronts::runOf(const Counts &counts) {
  if (auto known = numbers.find(counts); known != numbers.end())
    return known->second;
  Run run{counts, std::nullopt, 0, std::vector<std::optional<Front>>(problem.classes.size()),
          std::vector<std::optional<Fastest>>(problem.classes.size())};
  for (size_t type = counts.size(); type-- > 0;)
    if (counts[type]) {
      Counts less = counts;
      --less[type];
      run.before = runOf(less);
      run.type = static_cast<uint32_t>(type);
      break;
    }
  runs.push_back(std::move(run));
  return numbers[counts] = static_cast<uint32_t>(runs.size() - 1);
}

const ModeFronts::Fastest &ModeFronts::fastestOf(uint32_t number, uint32_t deviceClass) {
  std::optional<Fastest> &known = runs[number].fastest[deviceClass];
  if (!known) {
    known = Fastest();
    if (runs[number].before) {
      // Added up as the points of fronts are.
      const Fastest &before = fastestOf(*runs[number].before, deviceClass);
      uint32_t type = runs[number].type;
      const BlockMode &mode = problem.types[type].modes[deviceClass][fastest[deviceClass][type]];
      known = {before.heldBytes + mode.heldBytes, before.seconds + mode.seconds};
    }
  }
  return *known;
}

bool ModeFronts::fitsFastest(uint32_t run, uint32_t deviceClass, double bytes) {
  return !fastest[deviceClass].empty() && fastestOf(run, deviceClass).heldBytes <= bytes * (1 + kSame);
}

/// The points of a run with one block more, which is in one mode: by rising bytes.
class ModeFronts::Extension {
public:
  Extension(const Front &before, const BlockMode &mode, uint32_t number) : before(before), mode(mode), number(number) {}

  /// Skips what is not faster than `limit`: it does not get faster by waiting.
  void skip(double limit) {
    while (at < before.size() && !(before[at].seconds + mode.seconds < limit))
      ++at;
  }
  bool isDone() const { return at == before.size(); }
  double heldBytes() const { return before[at].heldBytes + mode.heldBytes; }
  Point take() {
    const Point &point = before[at];
    return {point.heldBytes + mode.heldBytes, point.seconds + mode.seconds, at++, number};
  }

private:
  const Front &before;
  const BlockMode &mode;
  uint32_t number, at = 0;
};

/// The points of all extensions that no other beats. Most are beaten, and skipped without a look at their bytes.
ModeFronts::Front ModeFronts::merge(std::vector<Extension> &extensions) {
  auto order = [](const Point &point) { return std::tie(point.seconds, point.before, point.mode); };
  Front front;
  for (double limit = kNever;;) {
    double least = kNever;
    for (Extension &each : extensions) {
      each.skip(limit);
      if (!each.isDone())
        least = std::min(least, each.heldBytes());
    }
    if (least == kNever)
      return front;
    // Of those with the same bytes the fastest counts.
    std::optional<Point> fastest;
    for (Extension &each : extensions)
      while (!each.isDone() && each.heldBytes() == least)
        if (Point point = each.take(); !fastest || order(point) < order(*fastest))
          fastest = point;
    front.push_back(*fastest);
    limit = fastest->seconds * (1 - kSame);
  }
}

const ModeFronts::Front &ModeFronts::frontOf(uint32_t number, uint32_t deviceClass) {
  if (runs[number].fronts[deviceClass])
    return *runs[number].fronts[deviceClass];
  Front front;
  if (!runs[number].before) {
    front.push_back({0, 0, 0, 0});
  } else {
    const Front &before = frontOf(*runs[number].before, deviceClass);
    const std::vector<BlockMode> &modes = problem.types[runs[number].type].modes[deviceClass];
    std::vector<Extension> extensions;
    for (uint32_t mode = 0; mode < modes.size(); ++mode)
      extensions.emplace_back(before, modes[mode], mode);
    front = merge(extensions);
  }
  return *(runs[number].fronts[deviceClass] = std::move(front));
}

const ModeFronts::Point *ModeFronts::pointWithin(uint32_t run, uint32_t deviceClass, double bytes) {
  const Front &front = frontOf(run, deviceClass);
  auto past = std::partition_point(front.begin(), front.end(),
                                   [&](const Point &point) { return point.heldBytes <= bytes * (1 + kSame); });
  return past == front.begin() ? nullptr : &*(past - 1);
}

double ModeFronts::secondsWithin(uint32_t run, uint32_t deviceClass, double bytes) {
  if (fitsFastest(run, deviceClass, bytes))
    return fastestOf(run, deviceClass).seconds;
  const Point *point = pointWithin(run, deviceClass, bytes);
  return point ? point->seconds : kNever;
}

std::vector<std::vector<uint32_t>> ModeFronts::modesWithin(uint32_t run, uint32_t deviceClass, double bytes) {
  std::vector<std::vector<uint32_t>> modes(problem.types.size());
  if (fitsFastest(run, deviceClass, bytes)) {
    for (size_t type = 0; type < modes.size(); ++type)
      modes[type].assign(runs[run].counts[type], fastest[deviceClass][type]);
    return modes;
  }
  const Point *point = pointWithin(run, deviceClass, bytes);
  while (runs[run].before) {
    modes[runs[run].type].push_back(point->mode);
    run = *runs[run].before;
    point = &frontOf(run, deviceClass)[point->before];
  }
  // Blocks of one type are alike: those that keep most come last, where least waits for them.
  for (std::vector<uint32_t> &each : modes)
    std::sort(each.begin(), each.end());
  return modes;
}

} // namespace dtcc::plan
