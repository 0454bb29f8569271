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

static constexpr double kNever = std::numeric_limits<double>::infinity();
/// Sums of the same terms in another order differ in their last bits; without a tolerance
/// every order would be a point of its own.
static constexpr double kSame = 1e-12;
/// Of a type that has no fastest mode.
static constexpr uint32_t kNone = ~0u;

double ModeFronts::neededBy(uint32_t type, uint32_t deviceClass, uint32_t mode) const {
  const BlockType &block = problem.types[type];
  return block.workingBytes + block.modes[deviceClass][mode].workingBytes;
}

ModeFronts::ModeFronts(const StageProblem &problem) : problem(problem) {
  findLevels();
  for (Place place = 0; place < problem.classes.size() * levels.size(); ++place)
    findFastest(place);
}

void ModeFronts::findLevels() {
  size_t classes = problem.classes.size();
  for (uint32_t type = 0; type < problem.types.size(); ++type)
    for (uint32_t device = 0; device < classes; ++device)
      for (uint32_t mode = 0; mode < problem.types[type].modes[device].size(); ++mode)
        levels.push_back(neededBy(type, device, mode));
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  levelsOf.resize(classes);
  for (uint32_t device = 0; device < classes; ++device)
    for (uint32_t type = 0; type < problem.types.size(); ++type) {
      std::pair<size_t, size_t> span{levels.size(), 0};
      for (uint32_t mode = 0; mode < problem.types[type].modes[device].size(); ++mode) {
        size_t level = std::lower_bound(levels.begin(), levels.end(), neededBy(type, device, mode)) - levels.begin();
        span = {std::min(span.first, level), std::max(span.second, level)};
      }
      levelsOf[device].push_back(span);
    }
}

void ModeFronts::findFastest(Place place) {
  /// Of the time of all blocks in their slowest modes: what modes must differ by.
  constexpr double apart = 1e-9;
  uint32_t device = classOf(place);
  double all = 0;
  for (uint32_t type : problem.blocks) {
    double most = 0;
    for (const BlockMode &mode : problem.types[type].modes[device])
      most = std::max(most, mode.seconds);
    all += most;
  }
  std::vector<uint32_t> &found = fastest.emplace_back();
  for (uint32_t type = 0; type < problem.types.size(); ++type) {
    const std::vector<BlockMode> &modes = problem.types[type].modes[device];
    std::optional<uint32_t> best;
    for (uint32_t mode = 0; mode < modes.size(); ++mode)
      if (isAllowed(place, type, mode) && (!best || modes[mode].seconds < modes[*best].seconds))
        best = mode;
    for (uint32_t mode = 0; best && mode < modes.size(); ++mode)
      if (isAllowed(place, type, mode) && !(modes[mode] == modes[*best]) &&
          modes[mode].seconds <= modes[*best].seconds + apart * all)
        best.reset();
    // A type that no run of these has is not in the way.
    found.push_back(best.value_or(kNone));
  }
}

uint32_t ModeFronts::runOf(const Counts &counts) {
  if (auto known = numbers.find(counts); known != numbers.end())
    return known->second;
  size_t places = problem.classes.size() * levels.size();
  Run run{counts,
          std::nullopt,
          0,
          std::vector<std::pair<size_t, size_t>>(problem.classes.size()),
          std::vector<std::optional<Front>>(places),
          std::vector<std::optional<Fastest>>(places)};
  for (size_t type = counts.size(); type-- > 0;)
    if (counts[type]) {
      Counts less = counts;
      --less[type];
      run.before = runOf(less);
      run.type = static_cast<uint32_t>(type);
      for (size_t device = 0; device < problem.classes.size(); ++device) {
        auto [first, last] = runs[*run.before].levels[device];
        auto [low, high] = levelsOf[device][type];
        run.levels[device] = {std::max(first, low), std::max(last, high)};
      }
      break;
    }
  runs.push_back(std::move(run));
  return numbers[counts] = static_cast<uint32_t>(runs.size() - 1);
}

const ModeFronts::Fastest &ModeFronts::fastestOf(uint32_t number, Place place) {
  if (!runs[number].fastest[place]) {
    Fastest known;
    if (runs[number].before) {
      // Added up as the points of fronts are.
      known = fastestOf(*runs[number].before, place);
      uint32_t type = runs[number].type, mode = fastest[place][type];
      known.exists &= mode != kNone;
      if (known.exists) {
        known.heldBytes += problem.types[type].modes[classOf(place)][mode].heldBytes;
        known.seconds += problem.types[type].modes[classOf(place)][mode].seconds;
      }
    }
    runs[number].fastest[place] = known;
  }
  return *runs[number].fastest[place];
}

bool ModeFronts::fitsFastest(uint32_t run, Place place, double bytes) {
  const Fastest &all = fastestOf(run, place);
  return all.exists && all.heldBytes <= bytes * (1 + kSame);
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

const ModeFronts::Front &ModeFronts::frontOf(uint32_t number, Place place) {
  if (runs[number].fronts[place])
    return *runs[number].fronts[place];
  Front front;
  if (!runs[number].before) {
    front.push_back({0, 0, 0, 0});
  } else {
    const Front &before = frontOf(*runs[number].before, place);
    uint32_t type = runs[number].type;
    const std::vector<BlockMode> &modes = problem.types[type].modes[classOf(place)];
    std::vector<Extension> extensions;
    for (uint32_t mode = 0; mode < modes.size(); ++mode)
      if (isAllowed(place, type, mode))
        extensions.emplace_back(before, modes[mode], mode);
    front = merge(extensions);
  }
  return *(runs[number].fronts[place] = std::move(front));
}

const ModeFronts::Point *ModeFronts::pointWithin(uint32_t run, Place place, double bytes) {
  const Front &front = frontOf(run, place);
  auto past = std::partition_point(front.begin(), front.end(),
                                   [&](const Point &point) { return point.heldBytes <= bytes * (1 + kSame); });
  return past == front.begin() ? nullptr : &*(past - 1);
}

/// Modes that need more at work leave less for what is held: each level is tried until one is as fast as any.
ModeFronts::Best ModeFronts::best(uint32_t run, uint32_t deviceClass, Room room) {
  auto [first, last] = runs[run].levels[deviceClass];
  Fastest most = fastestOf(run, placeOf(deviceClass, last));
  Best best;
  for (size_t level = first; level <= last && room.bytes >= levels[level] * (1 - kSame); ++level) {
    Place place = placeOf(deviceClass, level);
    double bytes = std::max(0.0, room.bytes - levels[level]) / room.inFlight;
    double seconds = kNever;
    if (fitsFastest(run, place, bytes))
      seconds = fastestOf(run, place).seconds;
    else if (const Point *point = pointWithin(run, place, bytes))
      seconds = point->seconds;
    if (seconds < best.seconds * (1 - kSame))
      best = {seconds, level};
    if (most.exists && best.seconds <= most.seconds * (1 + kSame))
      break;
  }
  return best;
}

std::vector<std::vector<uint32_t>> ModeFronts::modesWithin(uint32_t run, uint32_t deviceClass, Room room) {
  std::vector<std::vector<uint32_t>> modes(problem.types.size());
  size_t level = best(run, deviceClass, room).level;
  Place place = placeOf(deviceClass, level);
  double bytes = std::max(0.0, room.bytes - levels[level]) / room.inFlight;
  if (fitsFastest(run, place, bytes)) {
    for (size_t type = 0; type < modes.size(); ++type)
      modes[type].assign(runs[run].counts[type], fastest[place][type]);
    return modes;
  }
  const Point *point = pointWithin(run, place, bytes);
  while (runs[run].before) {
    modes[runs[run].type].push_back(point->mode);
    run = *runs[run].before;
    point = &frontOf(run, place)[point->before];
  }
  // Blocks of one type are alike: those that keep most come last, where least waits for them.
  for (std::vector<uint32_t> &each : modes)
    std::sort(each.begin(), each.end());
  return modes;
}

} // namespace dtcc::plan
