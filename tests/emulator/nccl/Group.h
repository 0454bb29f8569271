//===- Group.h - Members of an emulated communicator ----------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of one communicator are numbered by each member; those of one number are one
// collective. Its work is done when all members' streams have come to it, by whichever
// thread needs its end: that one runs the other members' streams up to there. What does not
// fit together is an error that names both sides.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_NCCL_GROUP_H
#define DTCC_TESTS_EMULATOR_NCCL_GROUP_H

#include "tests/emulator/cuda/Element.h"
#include "tests/emulator/cuda/Streams.h"
#include <memory>
#include <tuple>

namespace dtcc::emulator {

enum class Kind { AllReduce, AllGather, ReduceScatter, Broadcast, Message };
enum class Fold { Sum, Product, Max, Min, Mean };

/// Arguments of one member's call of a collective.
struct Part {
  Kind kind;
  uint64_t count = 0;
  Element element = Element::F32;
  Fold fold = Fold::Sum;
  int root = 0;
  const char *in = nullptr;
  char *out = nullptr;
  int peer = -1; ///< of a message

  std::string text() const;
};

/// One collective, or one message between two members.
struct Meeting {
  std::vector<std::unique_ptr<Part>> parts; ///< by member
  std::vector<Stream *> streams;
  std::vector<uint64_t> positions; ///< of the work on the stream
  std::vector<bool> arrived;
  bool done = false;
};

/// Between whom NCCL has buffers: from a member to a member, or -1, -1 for collectives.
using Link = std::pair<int, int>;

struct Group {
  int size = 0;
  std::vector<Device *> devices;
  std::vector<std::thread::id> threads;                     ///< in which members joined
  bool aborted = false;                                     ///< by a member: all waits end
  bool broken = false;                                      ///< members did not agree: nobody waits any more
  std::map<uint64_t, std::shared_ptr<Meeting>> collectives; ///< by number
  std::map<std::tuple<int, int, uint64_t>, std::shared_ptr<Meeting>> messages; ///< by sender, receiver, number
  std::set<std::pair<int, Link>> connected; ///< members whose host has waited for the others on a link

  /// A member's part of a meeting. Throws CallError if it does not fit another's.
  void add(Meeting &meeting, int member, std::unique_ptr<Part> part);
  bool isComplete(const Meeting &meeting) const;
};

/// Whether two members say the same of a call.
bool fits(const Part &one, const Part &other);
/// That they do not.
std::string mismatch(int size, int member, const Part &part, int other, const Part &theirs);
/// Carries out a collective once all members have called it.
void perform(Meeting &meeting);

class Remote;

/// Position of a member's last work. Work of a communicator runs in the order of the calls, on whatever streams.
struct Last {
  Stream *stream = nullptr;
  uint64_t position = 0;
};

/// ncclComm_t
struct Member {
  std::shared_ptr<Group> group;
  int me = 0;
  Device *device = nullptr;
  uint64_t collectives = 0;
  std::map<int, uint64_t> sent, received;
  std::shared_ptr<Remote> remote; ///< with members in other processes
  std::shared_ptr<Last> last = std::make_shared<Last>();
};

/// Waits for a meeting, from the work of a member's stream that is run now.
/// Puts a wait for what the communicator was given last on the stream that it is given work to now.
void keepOrder(Emulation &emulation, Lock &lock, const Last &last, Stream &stream);
/// The host of a member that uses a link first waits until the others call, too: buffers are made then. Throws
/// CallError where hosts wait for each other.
void connect(Emulation &emulation, Lock &lock, Group &group, const Meeting &meeting, int me, Link link);
void attend(Emulation &emulation, Lock &lock, Group &group, Meeting &meeting, int me);

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_NCCL_GROUP_H
