//===- ExchangeSlack.h - Which exchanges of a phase can hide -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective or a send is hidden by the commands between it and the first command that needs its
// bytes. All exchanges over one communicator move to another stream or none does, so that
// they have one order, which is the same on every rank. Two passes share this analysis: the one
// that assigns streams, and the one that gives parameters a communicator of their own.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_COMMANDS_EXCHANGESLACK_H
#define DTCC_PASSES_EXEC_COMMANDS_EXCHANGESLACK_H

#include "passes/exec/commands/Liveness.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace dtcc::exec {

class ExchangeSlack {
public:
  /// Exchanges of parameters over the first of each pair in `apart` count as if they were over the second.
  ExchangeSlack(PhaseOp phase, const llvm::StringSet<> &persistent, const llvm::StringMap<std::string> &apart = {})
      : commands(phase.getOps<CommandOpInterface>()), persistent(persistent), apart(apart) {}

  /// Communicators most of whose commands have something to hide behind. Of those of parameters alone most of the bytes
  /// must: a small bucket that is wanted at once keeps no large ones. Of those of activations alone a quarter of the
  /// commands: what is wanted at once loses an event, and the rest wins its time.
  llvm::StringSet<> movable();

  /// The communicator of what may move; else none.
  std::optional<llvm::StringRef> communicatorOf(size_t at);
  bool conflict(size_t a, size_t b);
  /// Whether the command behind the collective adds what that brings to state, and does nothing else.
  bool isSum(size_t collective);
  /// Before which command the sum behind the collective may stand at the latest.
  size_t lastPlaceOfSum(size_t collective);

  /// In the order of the text.
  llvm::SmallVector<CommandOpInterface> commands;

private:
  /// Whether something is computed between the command and the first that needs it or its memory.
  bool hasSlack(size_t at);

  const llvm::StringSet<> &persistent;
  llvm::StringMap<std::string> apart;
};

/// Bytes of its larger side.
double exchangedBytes(CollectiveOp op);
/// Buffers that outlive a phase.
llvm::StringSet<> persistentBuffers(ProgramOp program);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_EXCHANGESLACK_H
