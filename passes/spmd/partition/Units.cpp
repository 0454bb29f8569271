//===- Units.cpp - Which states are gathered and reduced together
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/partition/Units.h"
#include <algorithm>
#include <cmath>

namespace dtcc::spmd {
namespace {

/// `repeats` blocks of `period` members each, from `start`.
struct BlockRun {
  size_t start = 0, period = 0, repeats = 0;
  size_t covered() const { return period * repeats; }
};

class BlockUnits {
public:
  BlockUnits(const std::vector<UnitMember> &members, double least) : members(members), least(least) {}

  std::vector<size_t> run() {
    cut(0, members.size());
    return numbers;
  }

private:
  /// The run in [begin, end) that covers most; of those the one with the shortest period, then the first.
  BlockRun longest(size_t begin, size_t end) const {
    BlockRun best;
    for (size_t period = 1; 2 * period <= end - begin; ++period)
      for (size_t start = begin; start + 2 * period <= end; ++start) {
        size_t same = 0;
        while (start + period + same < end &&
               members[start + same].signature == members[start + period + same].signature)
          ++same;
        BlockRun run{start, period, same / period + 1};
        if (run.repeats >= 2 && run.covered() > best.covered())
          best = run;
      }
    return best;
  }

  double bytes(size_t begin, size_t end) const {
    double sum = 0;
    for (size_t i = begin; i < end; ++i)
      sum += members[i].bytes;
    return sum;
  }

  /// Members up to `end` as a new unit, or as a part of the last one.
  void append(size_t end, bool isNew) {
    next += isNew || numbers.empty();
    numbers.resize(end, next - 1);
  }

  void cut(size_t begin, size_t end) {
    BlockRun run = longest(begin, end);
    size_t blocks = 0; // in a unit
    if (run.repeats) {
      double block = bytes(run.start, run.start + run.period);
      blocks = std::max<size_t>(1, static_cast<size_t>(std::ceil(least / std::max(block, 1.0))));
    }
    if (!run.repeats || 2 * blocks > run.repeats)
      return single(begin, end);
    cut(begin, run.start);
    for (size_t first = 0; first < run.repeats; first += blocks)
      append(run.start + std::min(first + blocks, run.repeats) * run.period, true);
    cut(run.start + run.covered(), end);
  }

  /// States that no block repeats.
  void single(size_t begin, size_t end) {
    double held = -1; // bytes of the unit that was begun here; negative: none was
    for (size_t i = begin; i < end; ++i) {
      // A small state joins what stands before it, a large one what was begun and is still small.
      bool large = members[i].bytes >= least, isNew = held < 0 ? i == 0 || large : held >= least && large;
      append(i + 1, isNew);
      held = isNew ? members[i].bytes : held < 0 ? held : held + members[i].bytes;
    }
  }

  const std::vector<UnitMember> &members;
  double least;
  std::vector<size_t> numbers;
  size_t next = 0;
};
} // namespace

std::vector<size_t> unitsByBlock(const std::vector<UnitMember> &members, double least) {
  return BlockUnits(members, least).run();
}

std::vector<size_t> unitsBySize(const std::vector<UnitMember> &members, double most) {
  std::vector<size_t> numbers;
  size_t unit = 0;
  double held = 0;
  for (const UnitMember &member : members) {
    if (held > 0 && held + member.bytes > most) {
      ++unit;
      held = 0;
    }
    held += member.bytes;
    numbers.push_back(unit);
  }
  return numbers;
}

std::string unitName(const std::vector<std::string> &names) {
  std::string common = names.front();
  for (const std::string &name : names) {
    size_t same = 0;
    while (same < common.size() && same < name.size() && common[same] == name[same])
      ++same;
    common.resize(same);
  }
  // Whole components of a dotted name.
  if (names.size() > 1)
    common.resize(common.rfind('.') == std::string::npos ? 0 : common.rfind('.'));
  return common.empty() ? names.front() + " .. " + names.back() : common;
}

} // namespace dtcc::spmd
