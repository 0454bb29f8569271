//===- Liveness.h - When the bytes of a buffer are in use -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers the commands of an exec.program in the order of a step and gives every
// buffer the interval in which its bytes must be its own. Shared by the planner of
// the arenas and by the verifier.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LIVENESS_H
#define DTCC_PASSES_EXEC_LIVENESS_H

#include "dialects/exec/Exec.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace dtcc::exec {

/// Positions [begin, end] of commands, both included.
struct Interval {
  int64_t begin = 0, end = -1;
  bool empty() const { return end < begin; }
  bool overlaps(const Interval &other) const { return begin <= other.end && other.begin <= end; }
};

/// One access of a command to a view.
struct Access {
  ViewOp view;
  bool reads = false, writes = false;
};
/// All accesses of a command; scratch memory is written.
llvm::SmallVector<Access> accessesOf(CommandOpInterface command);

class Liveness {
public:
  explicit Liveness(ProgramOp program);
  /// Persistent buffers live always; one that nobody touches has an empty interval.
  /// A buffer that is carried into a repeated phase, or from one slot to the next,
  /// lives through the whole phase.
  Interval intervalOf(BufferOp buffer) const { return intervals.lookup(buffer); }
  int64_t commands() const { return count; }

private:
  llvm::DenseMap<BufferOp, Interval> intervals;
  int64_t count = 0;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LIVENESS_H
