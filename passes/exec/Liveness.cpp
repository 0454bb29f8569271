//===- Liveness.cpp - When the bytes of a buffer are in use -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Liveness.h"
#include "llvm/ADT/DenseSet.h"

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
        // Who waits for a command waits for those before it in its stream.
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

Liveness::Liveness(ProgramOp program) {
  llvm::MapVector<StringRef, BufferOp> buffers;
  for (auto buffer : program.getOps<BufferOp>())
    buffers[buffer.getSymName()] = buffer;
  for (auto phase : program.getOps<PhaseOp>()) {
    int64_t begin = count;
    SmallVector<BufferOp> carried;
    SmallVector<CommandOpInterface> commands(phase.getOps<CommandOpInterface>());
    SmallVector<Interval> windows = windowsOf(commands, begin);
    for (auto [command, window] : llvm::zip_equal(commands, windows)) {
      for (Access access : accessesOf(command)) {
        BufferOp buffer = buffers.lookup(access.view.getBuffer());
        auto [entry, isNew] = intervals.try_emplace(buffer, window);
        // Read before it was written here: from an earlier phase, or from the last slot.
        if (entry->second.begin < begin || (isNew && access.reads))
          carried.push_back(buffer);
        entry->second = {std::min(entry->second.begin, window.begin), std::max(entry->second.end, window.end)};
      }
      ++count;
    }
    if (phase.getRepeat() > 1)
      for (BufferOp buffer : carried) {
        Interval &interval = intervals[buffer];
        interval = {std::min(interval.begin, begin), std::max(interval.end, count - 1)};
      }
  }
  for (auto &[name, buffer] : buffers)
    if (buffer.getPersistent())
      intervals[buffer] = {0, std::max<int64_t>(count - 1, 0)};
}
