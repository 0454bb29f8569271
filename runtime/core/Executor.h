//===- Executor.h - Runs the command table of one rank -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The executor walks the actions of a step and runs the commands of each action's
// phase. It runs all streams on the rank's one thread in program order, which
// satisfies every wait (the image's check makes sure that waits look back); or, if asked
// to overlap, the commands of other streams than the first on a second thread, which are
// collectives. An action ends when both have ended. Kernels and library ops use the rank's
// team, and collectives on the second thread none.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_EXECUTOR_H
#define DTCC_RUNTIME_CORE_EXECUTOR_H

#include "runtime/core/Memory.h"
#include "runtime/core/Rank.h"
#include "runtime/core/StreamThread.h"
#include "runtime/core/StridedCopy.h"
#include "runtime/core/Trace.h"
#include "runtime/kernels/LibraryOp.h"

#include <functional>
#include <optional>

namespace dtcc::rt {

class Transport;

class Executor {
public:
  /// Allocates the rank's arenas, zeroed, where `transport` wants them (null: anywhere).
  /// `kernels` are the program's; `trace` may be null. All four outlive the executor.
  Executor(Rank &rank, std::span<const dtcc_kernel> kernels, Trace *trace, Transport *transport = nullptr);
  /// From now on commands of other streams run on a second thread, which traces to
  /// `traceOfStreams` (or null). No effect if there are none.
  void overlap(Trace *traceOfStreams);
  /// Communicators that the second thread would use.
  static std::vector<bool> communicatorsOfStreams(const Image &image);

  /// Makes the library ops, plans the copies, reserves the messages. The rank's
  /// communicators must be in place.
  void bind();

  /// Runs every action of one step. `beforeSlot` is called when a slot is entered
  /// for the first time in the step.
  void runStep(const std::function<void(int64_t slot)> &beforeSlot);

private:
  /// A command and all that the bind phase made for it.
  struct Bound {
    const dtcc_command *command;
    dtcc_kernel kernel = nullptr;
    std::unique_ptr<LibraryOp> library;
    std::optional<StridedCopy> copy;
    Communicator *communicator = nullptr;
    std::vector<std::byte *> bases;
    std::vector<int64_t> slotStrides, slots; /* see dtcc_view */
    std::vector<void *> buffers;             /* for the running slot */
    uint64_t ticket = 0;                     /* of the running action, on the second thread */
  };

  void runTraced(Bound &bound, uint32_t number, uint32_t slot, Trace *into);
  void run(Bound &bound);
  void runCollective(Bound &bound);
  void exchangeRows(Bound &bound);

  Rank &rank;
  std::span<const dtcc_kernel> kernels;
  Trace *trace;
  std::vector<ArenaMemory> memory;
  std::vector<Bound> table;  /* of the stage's commands */
  std::vector<bool> entered; /* slots of this step */
  std::unique_ptr<StreamThread> second;
  Trace *secondTrace = nullptr;
};

/// Bytes of all arenas of one rank of a stage.
uint64_t arenaBytes(const Image &image, const dtcc_stage &stage);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_EXECUTOR_H
