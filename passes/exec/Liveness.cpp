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

Liveness::Liveness(ProgramOp program) {
  llvm::MapVector<StringRef, BufferOp> buffers;
  for (auto buffer : program.getOps<BufferOp>())
    buffers[buffer.getSymName()] = buffer;
  for (auto phase : program.getOps<PhaseOp>()) {
    int64_t begin = count;
    SmallVector<BufferOp> carried;
    for (auto command : phase.getOps<CommandOpInterface>()) {
      for (Access access : accessesOf(command)) {
        BufferOp buffer = buffers.lookup(access.view.getBuffer());
        auto [entry, isNew] = intervals.try_emplace(buffer, Interval{count, count});
        // Read before it was written here: from an earlier phase, or from the last slot.
        if (entry->second.begin < begin || (isNew && access.reads))
          carried.push_back(buffer);
        entry->second.end = count;
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
