//===- Liveness.cpp - When the bytes of a buffer are in use -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/commands/Liveness.h"
#include "passes/exec/commands/Runs.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace dtcc::exec;

SmallVector<Access> dtcc::exec::accessesOf(CommandOpInterface command) {
  SmallVector<Access> accesses;
  for (Value in : command.getIns())
    accesses.push_back({in.getDefiningOp<ViewOp>(), true, false});
  for (auto [i, out] : llvm::enumerate(command.getOuts()))
    accesses.push_back({out.getDefiningOp<ViewOp>(), command.readsOut(i), true});
  for (Value scratch : command.getScratch())
    accesses.push_back({scratch.getDefiningOp<ViewOp>(), false, true});
  return accesses;
}

bool dtcc::exec::conflict(ArrayRef<Access> a, ArrayRef<Access> b) {
  for (Access x : a)
    for (Access y : b)
      if ((x.writes || y.writes) && x.view.getBufferAttr() == y.view.getBufferAttr())
        return true;
  return false;
}

void Lifetime::add(Interval interval) {
  auto holds = [&](const Interval &own) { return own.begin <= interval.begin && interval.end <= own.end; };
  if (llvm::any_of(intervals, holds))
    return;
  SmallVector<Interval, 1> merged;
  for (const Interval &other : intervals) {
    if (other.end + 1 < interval.begin || interval.end + 1 < other.begin)
      merged.push_back(other);
    else
      interval = {std::min(interval.begin, other.begin), std::max(interval.end, other.end)};
  }
  merged.insert(llvm::lower_bound(merged, interval, [](auto &a, auto &b) { return a.begin < b.begin; }), interval);
  intervals = std::move(merged);
}

std::optional<int64_t> Lifetime::meets(const Lifetime &other) const {
  for (auto a = intervals.begin(), b = other.intervals.begin(); a != intervals.end() && b != other.intervals.end();) {
    if (a->begin <= b->end && b->begin <= a->end)
      return std::max(a->begin, b->begin);
    if (a->end < b->end)
      ++a;
    else
      ++b;
  }
  return std::nullopt;
}

/// When a command may run, by the numbers of commands of the first stream (from `begin` on):
/// not before what it and its stream have waited for, and until the first stream waits for it
/// or the phase ends.
static SmallVector<Interval> windowsOf(MutableArrayRef<CommandOpInterface> commands, int64_t begin) {
  SmallVector<Interval> windows;
  llvm::DenseMap<Operation *, size_t> numbers;
  llvm::DenseMap<uint64_t, int64_t> earliest;
  /// Commands of other streams that the first has not waited for.
  SmallVector<size_t> pending;
  for (auto [i, command] : llvm::enumerate(commands)) {
    int64_t at = begin + int64_t(i), first = at;
    bool other = command.getStream() != 0;
    if (other)
      first = earliest.try_emplace(command.getStream(), begin).first->second;
    for (Value event : command.getAfter()) {
      auto known = numbers.find(event.getDefiningOp());
      if (known == numbers.end())
        continue;
      if (other)
        first = std::max(first, windows[known->second].begin + 1);
      else
        // A wait for a command is also a wait for the commands before it in its stream.
        llvm::erase_if(pending, [&, end = known->second](size_t number) {
          bool ends = number <= end && commands[number].getStream() == commands[end].getStream();
          if (ends)
            windows[number].end = at;
          return ends;
        });
    }
    windows.push_back({std::min(first, at), other ? begin + int64_t(commands.size()) - 1 : at});
    if (other) {
      earliest[command.getStream()] = windows.back().begin;
      pending.push_back(i);
    }
    numbers[command] = i;
  }
  return windows;
}

namespace {
/// The commands of one phase that touch a buffer.
struct Touches {
  size_t phase = 0;
  Interval span;
  bool readsFirst = false;
  SlotMap slots;
};

/// The touches of a buffer, in the order of the phases.
using BufferUse = SmallVector<Touches, 1>;
} // namespace

/// Extends the lifetime by the values that the runs of a step leave in the buffer for later runs.
static void follow(const BufferUse &use, ArrayRef<Run> runs, ArrayRef<Interval> phases, Lifetime &lifetime) {
  SmallVector<const Touches *> byPhase(phases.size());
  for (const Touches &touches : use) {
    lifetime.add(touches.span);
    byPhase[touches.phase] = &touches;
  }
  // A buffer that every phase writes before it reads leaves nothing to later runs, of which a step has thousands.
  if (llvm::none_of(use, [](const Touches &touches) { return touches.readsFirst; }))
    return;
  llvm::SmallDenseMap<int64_t, size_t> lastRuns; // by slot of memory
  /// Counts for each run how many more values wait in the buffer while it runs than during the run before.
  std::vector<int64_t> waits(runs.size());
  for (auto [number, run] : llvm::enumerate(runs)) {
    const Touches *touches = byPhase[run.phase];
    if (!touches)
      continue;
    auto [last, isFirst] = lastRuns.try_emplace(touches->slots[run.slot], number);
    if (touches->readsFirst) {
      lifetime.add({phases[run.phase].begin, touches->span.end});
      if (!isFirst) {
        const Touches &before = *byPhase[runs[last->second].phase];
        lifetime.add({before.span.begin, phases[before.phase].end});
        ++waits[last->second + 1];
        --waits[number];
      }
    }
    last->second = number;
  }
  llvm::SmallBitVector during(unsigned(phases.size()));
  int64_t waiting = 0;
  for (auto [run, more] : llvm::zip_equal(runs, waits))
    if ((waiting += more) > 0)
      during.set(unsigned(run.phase));
  for (unsigned phase : during.set_bits())
    lifetime.add(phases[phase]);
}

Liveness::Liveness(ProgramOp program) {
  llvm::MapVector<StringRef, BufferOp> buffers;
  for (auto buffer : program.getOps<BufferOp>())
    buffers[buffer.getSymName()] = buffer;
  llvm::DenseMap<BufferOp, BufferUse> uses;
  SmallVector<Interval> phases;
  SlotMaps slotMaps(program);
  for (auto phase : program.getOps<PhaseOp>()) {
    phases.push_back({count, count - 1});
    SmallVector<CommandOpInterface> commands(phase.getOps<CommandOpInterface>());
    SmallVector<Interval> windows = windowsOf(commands, count);
    for (auto [command, window] : llvm::zip_equal(commands, windows)) {
      for (Access access : accessesOf(command)) {
        BufferUse &use = uses[buffers.lookup(access.view.getBuffer())];
        if (use.empty() || use.back().phase != phases.size() - 1)
          use.push_back({phases.size() - 1, window, access.reads, slotMaps.of(access.view)});
        Interval &span = use.back().span;
        span = {std::min(span.begin, window.begin), std::max(span.end, window.end)};
      }
      phases.back().end = count++;
    }
  }
  std::vector<Run> runs = runsOf(program);
  for (auto &[name, buffer] : buffers) {
    Lifetime &lifetime = lifetimes[buffer];
    auto use = uses.find(buffer);
    if (buffer.getPersistent())
      lifetime.add({0, std::max<int64_t>(count - 1, 0)});
    else if (use != uses.end())
      follow(use->second, runs, phases, lifetime);
  }
}
