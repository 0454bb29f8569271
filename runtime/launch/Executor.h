//===- Executor.h - Runs the command table of one rank -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The executor walks the actions of a step and gives the commands of each action's phase
// to the device: it knows which commands run in which slot and where their operands lie,
// the device how they run.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_EXECUTOR_H
#define DTCC_RUNTIME_LAUNCH_EXECUTOR_H

#include "runtime/device/Device.h"

#include <functional>
#include <map>
#include <optional>

namespace dtcc::rt {

class Executor {
public:
  /// Runs commands on `device`, which outlives the executor.
  Executor(Rank &rank, Device &device);

  /// Binds every command, while all arenas are zero. The rank's communicators must be in place.
  void bind();
  /// After bind, when the states have been filled and before the first step.
  void begin();

  /// Runs every action of one step. `beforeSlot` is called before a slot is entered
  /// for the first time in the step, to write its inputs.
  void runStep(const std::function<void(int64_t slot)> &beforeSlot);
  /// Runs the program's evaluation, in the same way: the loss of one batch, and no update. With `ofAverages` it is that
  /// of the averages of the parameters.
  void runEvaluation(const std::function<void(int64_t slot)> &beforeSlot, bool ofAverages);
  /// Runs the part of an evaluation that belongs to its first micro-batch.
  void runFirstOfEvaluation(const std::function<void(int64_t slot)> &beforeSlot, bool ofAverages);
  /// Exchanges the parameters that train with their averages over the steps: a second call takes the first one back.
  void exchangeAverages();

private:
  /// Address of a view in each slot.
  struct Place {
    std::byte *base;
    SlotMemory slots;

    void *in(int64_t slot) const { return base + slots.offsetOf(slot); }
  };
  struct Bound {
    std::vector<Place> operands;
    std::optional<Place> predicate;
    int64_t slot = -1;           /* that the addresses are of */
    std::vector<void *> buffers; /* the operands' */
    void *flag = nullptr;        /* the predicate's */
  };
  /// Actions between which the host writes no inputs.
  struct Part {
    std::span<const dtcc_action> actions;
    std::vector<int64_t> entered; /* slots that no part before has */
  };

  Place placeOf(uint32_t view) const;
  std::vector<Part> findParts(const dtcc_range &actions) const;
  /// Runs the actions of slots below `slots`; those that exchange averages only with `exchanges`.
  void run(const std::vector<Part> &some, uint32_t firstNumber, int64_t slots, bool exchanges,
           const std::function<void(int64_t)> &beforeSlot);
  /// Tells the device the messages that an action receives.
  void expectMessages(const dtcc_action &action);
  void runAction(const dtcc_action &action);
  /// Completes the copies of parameters that a step leaves incomplete, if a step has run since the last time.
  void gatherCopies();

  Rank &rank;
  Device &device;
  std::vector<Bound> table;                           /* of the stage's commands */
  std::map<uint32_t, std::vector<uint32_t>> receives; /* commands, by the phase whose messages can be expected */
  std::vector<Part> parts;                            /* of a step */
  std::vector<Part> evaluation;
  bool areCopiesOld = false; /* whether a step has run since the copies of parameters were complete on all ranks */
};

/// Whether a stream beside the first uses each communicator.
std::vector<bool> communicatorsOfStreams(const Image &image);

/// Bytes of all arenas of one rank of a stage, in memory of its device.
uint64_t arenaBytes(const Image &image, const dtcc_stage &stage);
/// Bytes that the stage needs in the memory of a GPU's host.
uint64_t hostBytes(const Image &image, const dtcc_stage &stage);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_EXECUTOR_H
