//===- Liveness.h - When the bytes of a buffer are in use -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers the commands of an exec.program in the order of the text and gives every
// buffer the commands during which, in some run of their phase, its bytes must be its
// own. Follows the actions of a step: what one run leaves and a later one reads lives
// through all runs between. Shared by the planner of the arenas and by the verifier.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_COMMANDS_LIVENESS_H
#define DTCC_PASSES_EXEC_COMMANDS_LIVENESS_H

#include "dialects/exec/Exec.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace dtcc::exec {

/// Name of the arena in host memory.
inline constexpr llvm::StringLiteral kHostArena = "host";

/// Positions [begin, end] of commands, both included.
struct Interval {
  int64_t begin = 0, end = -1;
};

/// Ascending intervals that do not touch.
struct Lifetime {
  llvm::SmallVector<Interval, 1> intervals;

  bool empty() const { return intervals.empty(); }
  void add(Interval interval);
  /// The first command at which both live.
  std::optional<int64_t> meets(const Lifetime &other) const;
};

/// One access of a command to a view.
struct Access {
  ViewOp view;
  bool reads = false, writes = false;
};
/// All accesses of a command; scratch memory is written.
llvm::SmallVector<Access> accessesOf(CommandOpInterface command);
/// Whether two commands with these accesses must keep their order: they touch a buffer, and one of them writes it.
bool conflict(llvm::ArrayRef<Access> a, llvm::ArrayRef<Access> b);

/// Commands of a phase beside which a copy to the host or from there is planned to be on its way: `most`, and fewer of
/// a phase of few, each of which takes long.
inline int64_t commandsBesideCopies(int64_t most, size_t commands) {
  return std::max<int64_t>(1, std::min(most, int64_t(commands / 8)));
}

class Liveness {
public:
  explicit Liveness(ProgramOp program);
  /// Persistent buffers live always; one that nobody touches never does. All slots of a
  /// buffer live while one does.
  const Lifetime &lifetimeOf(BufferOp buffer) const { return lifetimes.find(buffer)->second; }
  int64_t commands() const { return count; }

private:
  llvm::DenseMap<BufferOp, Lifetime> lifetimes;
  int64_t count = 0;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_LIVENESS_H
