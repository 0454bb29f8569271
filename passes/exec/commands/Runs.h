//===- Runs.h - What a step of an exec.program runs, in order
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_EXEC_COMMANDS_RUNS_H
#define DTCC_PASSES_EXEC_COMMANDS_RUNS_H

#include "dialects/exec/Exec.h"
#include "llvm/ADT/StringMap.h"
#include <vector>

namespace dtcc::exec {

/// One action: a phase (by its number in the program) for a slot.
struct Run {
  size_t phase = 0;
  int64_t slot = 0;
};

/// The program's actions; without them, its phases one after the other, each as often as
/// it repeats.
std::vector<Run> runsOf(ProgramOp program);

/// Which slot of its buffer's memory a view has for each micro-batch.
struct SlotMap {
  /// Later micro-batches use `count` slots again, one after the other; all have the same slot if it is 1.
  int64_t count = 1;
  /// The slot of each micro-batch, if an exec.slot_order says it; else empty.
  llvm::ArrayRef<int64_t> order;

  int64_t operator[](int64_t microBatch) const {
    return order.empty() ? microBatch % count : order[microBatch % order.size()];
  }
};

/// The slot maps of a program's views; the program outlives them.
class SlotMaps {
public:
  explicit SlotMaps(ProgramOp program);
  SlotMap of(ViewOp view) const;

private:
  llvm::StringMap<llvm::ArrayRef<int64_t>> orders;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_RUNS_H
