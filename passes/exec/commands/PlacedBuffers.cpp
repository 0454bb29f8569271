//===- PlacedBuffers.cpp - Where the buffers of an arena lie so far
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/commands/PlacedBuffers.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace dtcc::exec {

static constexpr size_t kMostOfRun = 128;
static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

void PlacedBuffers::Run::summarize() {
  all = {kForever, -1};
  shared = {-1, kForever};
  end = largestGap = 0;
  for (const Placed &placed : buffers) {
    llvm::ArrayRef<Interval> parts = placed.lifetime->intervals;
    all = {std::min(all.begin, parts.front().begin), std::max(all.end, parts.back().end)};
    shared = parts.size() == 1
                 ? Interval{std::max(shared.begin, parts.front().begin), std::min(shared.end, parts.front().end)}
                 : Interval{kForever, -1};
    if (&placed != &buffers.front())
      largestGap = std::max(largestGap, placed.offset - end);
    end = std::max(end, placed.end);
  }
}

int64_t PlacedBuffers::findOffset(const Lifetime &lifetime, int64_t bytes) const {
  int64_t best = -1, bestGap = 0, end = 0;
  auto pass = [&](int64_t begin, int64_t newEnd) {
    int64_t gap = begin - end;
    if (gap >= bytes && (best < 0 || gap < bestGap)) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, newEnd);
  };
  if (lifetime.empty())
    return 0;
  for (const Run &run : runs) {
    if (best >= 0 && bestGap == bytes)
      break; // no gap is smaller
    if (lifetime.intervals.back().end < run.all.begin || run.all.end < lifetime.intervals.front().begin)
      continue;
    // A part meets every lifetime that does not end before the part begins, nor begins behind its end.
    bool meetsAll = llvm::any_of(lifetime.intervals, [&](const Interval &part) {
      return part.begin <= run.shared.end && run.shared.begin <= part.end;
    });
    if (meetsAll && run.largestGap < bytes) {
      pass(run.buffers.front().offset, run.end);
      continue;
    }
    for (const Placed &placed : run.buffers)
      if (placed.lifetime->meets(lifetime))
        pass(placed.offset, placed.end);
  }
  return best < 0 ? end : best;
}

void PlacedBuffers::insert(const Lifetime &lifetime, int64_t offset, int64_t bytes) {
  if (lifetime.empty())
    return; // meets nothing
  Placed placed{&lifetime, offset, offset + bytes};
  auto isBefore = [](int64_t at, const auto &other) { return at < other.offset; };
  auto run = std::upper_bound(runs.begin(), runs.end(), offset,
                              [](int64_t at, const Run &other) { return at < other.buffers.front().offset; });
  if (run != runs.begin())
    --run;
  if (run == runs.end())
    run = runs.emplace(run);
  run->buffers.insert(std::upper_bound(run->buffers.begin(), run->buffers.end(), offset, isBefore), placed);
  if (run->buffers.size() > kMostOfRun) {
    Run second;
    second.buffers.assign(run->buffers.begin() + kMostOfRun / 2, run->buffers.end());
    second.summarize();
    run->buffers.resize(kMostOfRun / 2);
    run = std::prev(runs.insert(std::next(run), std::move(second)));
  }
  run->summarize();
}

} // namespace dtcc::exec
