//===- ParetoFronts.cpp - The modes of a run of blocks that nothing beats
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/ParetoFronts.h"
#include <algorithm>
#include <limits>
#include <tuple>

namespace dtcc::plan {

/// Sums of the same terms in another order differ in their last bits; without a tolerance
/// every order would be a point of its own.
static constexpr double kSame = 1e-12;
/// Index that stands for "this type has no fastest mode".
static constexpr uint32_t kNone = ~0u;

double ParetoFronts::neededBy(uint32_t type, uint32_t deviceClass, uint32_t mode) const {
  const BlockType &block = problem.types[type];
  return block.workingBytes + block.modes[deviceClass][mode].workingBytes;
}

ParetoFronts::ParetoFronts(const StageProblem &problem)
    : problem(problem), leastInFlight(*std::min_element(problem.inFlight.begin(), problem.inFlight.end())) {
  findLevels();
  for (Place place = 0; place < places(); ++place)
    findFastest(place);
  relaxed.resize(places());
}

void ParetoFronts::findLevels() {
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

void ParetoFronts::findFastest(Place place) {
  /// Smallest difference between modes that counts, as a share of the time of all blocks in their slowest modes.
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

uint32_t ParetoFronts::runOf(const Counts &counts) {
  if (auto known = numbers.find(counts); known != numbers.end())
    return known->second;
  Run run{&counts, std::nullopt};
  std::vector<std::pair<size_t, size_t>> spans(problem.classes.size());
  for (size_t type = counts.size(); type-- > 0;)
    if (counts[type]) {
      Counts less = counts;
      --less[type];
      run.before = runOf(less);
      run.type = static_cast<uint32_t>(type);
      run.stateBytes = runs[*run.before].stateBytes + problem.types[type].stateBytes;
      for (size_t device = 0; device < spans.size(); ++device) {
        auto [first, last] = levelsOfRuns[*run.before * spans.size() + device];
        auto [low, high] = levelsOf[device][type];
        spans[device] = {std::max(first, low), std::max(last, high)};
      }
      break;
    }
  uint32_t number = static_cast<uint32_t>(runs.size());
  run.counts = &numbers.emplace(counts, number).first->first;
  runs.push_back(run);
  levelsOfRuns.insert(levelsOfRuns.end(), spans.begin(), spans.end());
  return number;
}

const ParetoFronts::Fastest &ParetoFronts::fastestOf(uint32_t number, Place place) {
  if (auto found = fastestOfRuns.find(keyOf(number, place)); found != fastestOfRuns.end())
    return found->second;
  Fastest all;
  if (const Run &run = runs[number]; run.before) {
    // Added up as the points of fronts are.
    all = fastestOf(*run.before, place);
    uint32_t mode = fastest[place][run.type];
    all.exists &= mode != kNone;
    if (all.exists) {
      all.heldBytes += problem.types[run.type].modes[classOf(place)][mode].heldBytes;
      all.seconds += problem.types[run.type].modes[classOf(place)][mode].seconds;
    }
  }
  return fastestOfRuns.emplace(keyOf(number, place), all).first->second;
}

bool ParetoFronts::fitsFastest(uint32_t run, Place place, double bytes) {
  const Fastest &all = fastestOf(run, place);
  return all.exists && all.heldBytes <= bytes * (1 + kSame);
}

/// Upper bound on the bytes that this run, or one with more blocks, may use.
double ParetoFronts::mostBytes(uint32_t run, Place place) const {
  double memory = problem.classes[classOf(place)].memoryBytes;
  double free = memory - runs[run].stateBytes - levels[place % levels.size()];
  // The tolerance is there because sums of the same numbers in another order differ in their last bits.
  return (std::max(0.0, free) + 1e-9 * memory) / leastInFlight;
}

/// The points of a run with one block more, which is in one mode: by rising bytes.
class ParetoFronts::Extension {
public:
  Extension(const Front &before, const BlockMode &mode, uint32_t number)
      : begin(before.data()), at(begin), end(begin + before.size()), mode(mode), number(number) {}

  /// Skips what is not faster than `limit`: it does not get faster by waiting.
  void skip(double limit) {
    while (at != end && !(at->seconds + mode.seconds < limit))
      ++at;
  }
  /// Saved bytes of the next point; infinity if there is none.
  double heldBytes() const { return at == end ? kNever : at->heldBytes + mode.heldBytes; }
  Point take() {
    Point point{heldBytes(), at->seconds + mode.seconds, uint32_t(at - begin), number};
    ++at;
    return point;
  }

private:
  const Point *begin, *at, *end;
  const BlockMode &mode;
  uint32_t number;
};

/// The points of a run with one block more, of those within `most` bytes that no other beats. Most are beaten, and
/// skipped without a look at their bytes.
ParetoFronts::Front ParetoFronts::extend(const Front &before, uint32_t type, Place place, double most) {
  const std::vector<BlockMode> &modes = problem.types[type].modes[classOf(place)];
  std::vector<Extension> extensions;
  extensions.reserve(modes.size());
  for (uint32_t mode = 0; mode < modes.size(); ++mode)
    if (isAllowed(place, type, mode))
      extensions.emplace_back(before, modes[mode], mode);
  auto order = [](const Point &point) { return std::tie(point.seconds, point.before, point.mode); };
  growing.clear();
  for (double limit = kNever;;) {
    double least = kNever;
    for (Extension &each : extensions) {
      each.skip(limit);
      least = std::min(least, each.heldBytes());
    }
    if (least == kNever || least > most)
      return growing;
    // Only the fastest of several points with equal bytes counts.
    Point fastest{least, kNever, 0, 0};
    for (Extension &each : extensions)
      while (each.heldBytes() == least)
        if (Point point = each.take(); order(point) < order(fastest))
          fastest = point;
    growing.push_back(fastest);
    limit = fastest.seconds * (1 - kSame);
  }
}

const ParetoFronts::Front &ParetoFronts::frontOf(uint32_t number, Place place) {
  if (auto found = fronts.find(keyOf(number, place)); found != fronts.end())
    return found->second;
  const Run &run = runs[number];
  Front front =
      run.before ? extend(frontOf(*run.before, place), run.type, place, mostBytes(number, place)) : Front{{0, 0, 0, 0}};
  return fronts.emplace(keyOf(number, place), std::move(front)).first->second;
}

const ParetoFronts::Point *ParetoFronts::pointWithin(uint32_t run, Place place, double bytes) {
  const Front &front = frontOf(run, place);
  auto past = std::partition_point(front.begin(), front.end(),
                                   [&](const Point &point) { return point.heldBytes <= bytes * (1 + kSame); });
  return past == front.begin() ? nullptr : &*(past - 1);
}

double ParetoFronts::leastWithin(uint32_t run, Place place, double bytes) {
  std::optional<RelaxedModes> &modes = relaxed[place];
  if (!modes) {
    modes.emplace();
    for (uint32_t type = 0; type < problem.types.size(); ++type) {
      std::vector<BlockMode> allowed;
      for (uint32_t mode = 0; mode < problem.types[type].modes[classOf(place)].size(); ++mode)
        if (isAllowed(place, type, mode))
          allowed.push_back(problem.types[type].modes[classOf(place)][mode]);
      // A run that has the type has no room at this place.
      if (allowed.empty())
        modes->skipType();
      else
        modes->addType(allowed);
    }
    modes->finish();
  }
  const Counts &counts = *runs[run].counts;
  RelaxedModes::Fastest all;
  for (uint32_t type = 0; type < counts.size(); ++type) {
    all.seconds += counts[type] * modes->fastestOf(type).seconds;
    all.heldBytes += counts[type] * modes->fastestOf(type).heldBytes;
  }
  return modes->secondsWithin(counts, all, bytes) * (1 - kSame / 2);
}

/// Modes that need more at work leave less for what is held: each level is tried, unless a bound says that it is no
/// better than another, until one is as fast as any. Of levels that are as fast the first counts.
ParetoFronts::Best ParetoFronts::best(uint32_t run, uint32_t deviceClass, Room room) {
  struct Try {
    size_t level;
    Place place;
    double bytes, bound;
    bool isFastest;
  };
  auto [first, last] = levelsOfRuns[run * problem.classes.size() + deviceClass];
  Fastest most = fastestOf(run, placeOf(deviceClass, last));
  auto isAsFastAsAny = [&](double seconds) { return most.exists && seconds <= most.seconds * (1 + kSame); };
  auto secondsOf = [&](const Try &each) {
    if (each.isFastest)
      return fastestOf(run, each.place).seconds;
    const Point *point = pointWithin(run, each.place, each.bytes);
    return point ? point->seconds : kNever;
  };
  std::vector<Try> tries;
  for (size_t level = first; level <= last && room.bytes >= levels[level] * (1 - kSame); ++level) {
    Place place = placeOf(deviceClass, level);
    double bytes = std::max(0.0, room.bytes - levels[level]) / room.inFlight;
    bool isFastest = fitsFastest(run, place, bytes);
    tries.push_back(
        {level, place, bytes, isFastest ? fastestOf(run, place).seconds : leastWithin(run, place, bytes), isFastest});
    if (isFastest && isAsFastAsAny(tries.back().bound))
      break;
  }
  Best best;
  auto promising =
      std::min_element(tries.begin(), tries.end(), [](const Try &a, const Try &b) { return a.bound < b.bound; });
  if (promising == tries.end() || promising->bound == kNever)
    return best;
  // The seconds of the most promising level leave most of the others out.
  double least = secondsOf(*promising);
  for (const Try &each : tries) {
    if (each.bound > least * (1 + RelaxedModes::kSlack) || each.bound >= best.seconds * (1 - kSame))
      continue;
    if (double seconds = secondsOf(each); seconds < best.seconds * (1 - kSame))
      best = {seconds, each.level};
    if (isAsFastAsAny(best.seconds))
      break;
  }
  return best;
}

std::vector<std::vector<uint32_t>> ParetoFronts::modesWithin(uint32_t run, uint32_t deviceClass, Room room) {
  std::vector<std::vector<uint32_t>> modes(problem.types.size());
  size_t level = best(run, deviceClass, room).level;
  Place place = placeOf(deviceClass, level);
  double bytes = std::max(0.0, room.bytes - levels[level]) / room.inFlight;
  if (fitsFastest(run, place, bytes)) {
    for (size_t type = 0; type < modes.size(); ++type)
      modes[type].assign((*runs[run].counts)[type], fastest[place][type]);
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
