//===- Remote.h - A communicator over several processes -------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processes of one machine find each other by a file of shared memory that the unique id
// names. A call is shown to the others when it is made, so that calls that do not fit
// together are found then; its data follow when the member's stream has come to it, and each
// member makes its own result of them.
//
// A GPU runs by itself; here work is run by who needs its end. So that a process whose host
// waits for another's does not hold that one up, threads of its own run the streams that
// members in other processes wait for.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_NCCL_REMOTE_H
#define DTCC_TESTS_EMULATOR_NCCL_REMOTE_H

#include "tests/emulator/nccl/Group.h"
#include <atomic>
#include <list>

namespace dtcc::emulator {

class Remote {
public:
  /// Opens the memory that `id` names and enters it; `device` is the member's GPU. Throws CallError if the others
  /// joined another communicator, or gives up when they do not come.
  Remote(Lock &lock, uint64_t id, int size, int me, int device);
  ~Remote();
  Remote(const Remote &) = delete;
  Remote &operator=(const Remote &) = delete;

  /// Whether members are in several processes; else the memory is not needed any more.
  bool hasOthers() const;
  /// The GPU of a member.
  int deviceOf(int member) const;

  /// Shows a call: number `number` of the collectives, or of the messages from `from` to `to`. Returns its place.
  /// Throws CallError if it does not fit what another member showed.
  int show(Lock &lock, int from, int to, uint64_t number, const Part &part);
  /// The call stands on a stream, at this position.
  void place(int entry, Stream &stream, uint64_t position);
  /// The stream has come to it.
  void arrive(Lock &lock, int entry, const Part &part);
  /// Waits for the others, and makes this member's result.
  void attend(Emulation &emulation, Lock &lock, int entry, const Part &part);
  /// Ends all waits of this member.
  void abort() { aborted = true; }
  /// Runs the streams that others wait for, in threads of their own.
  void serve(Emulation &emulation, Lock &lock);

private:
  struct Memory;
  struct Entry;
  class Guard;
  bool isReady(const Entry &entry) const;

  int size, me, file = -1;
  std::string name;
  Memory *memory = nullptr;
  std::atomic<bool> aborted{false};
  struct Pending {
    int entry;
    Stream *stream;
    uint64_t position;
    bool served;
  };
  std::list<Pending> pending; ///< calls that no stream has come to
};

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_NCCL_REMOTE_H
