//===- GpuOverhead.cpp - What a rank has on a GPU besides its arenas
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/GpuOverhead.h"

#include "runtime/abi/Collectives.h"
#include "runtime/abi/GpuMemory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

namespace dtcc::rt {

/// Number of members of a communicator's group. Only some coordinates of its outermost axis may take part.
static int64_t membersOf(const Image &image, const dtcc_communicator &communicator) {
  int64_t members = 1;
  for (uint32_t i = 0; i < communicator.axes.count; ++i) {
    const int64_t all = image.axes()[communicator.axes.ids[i]].size;
    members *= i == 0 && communicator.members ? std::popcount(communicator.members) : all;
  }
  return members;
}

/// Number of kernels that a command launches: one of most, and several a time step of a recurrent layer.
static int64_t launchesOf(const Image &image, const dtcc_command &command) {
  constexpr int64_t stepLaunches = 3;
  const bool isRecurrent =
      command.kind == DTCC_LIBRARY && (command.op == DTCC_LIB_RECURRENCE || command.op == DTCC_LIB_RECURRENCE_GRAD);
  return isRecurrent ? stepLaunches * image.views()[image.operands(command)[0]].sizes[0] : 1;
}

namespace {

/// Uses for which NCCL allocates buffers in a communicator: its own algorithms, messages between all members, or
/// messages to the next member only.
struct Uses {
  bool algorithms = false, all = false, next = false;

  void add(Traffic traffic) {
    algorithms |= traffic == Traffic::TwiceAround || traffic == Traffic::OnceAround;
    all |= traffic == Traffic::EachToEach || traffic == Traffic::ToPicked;
    next |= traffic == Traffic::ToNext;
  }
};

} // namespace

GpuOverhead gpuOverhead(const Image &image, const dtcc_stage &stage) {
  // A program does not know which of its ranks share a node. NCCL needs the most memory if all of them do.
  constexpr bool withinNode = true;
  GpuOverhead result;
  result.context = gpu_memory::contextBytes;
  std::map<uint32_t, Uses> groups;
  // Each message by its communicator, its direction and its peer.
  std::set<std::tuple<uint32_t, bool, int64_t>> messages;
  bool isGraph = true;
  for (const dtcc_command &command : rowsOf(stage.commands, image.commands()))
    if (command.kind == DTCC_COLLECTIVE) {
      Traffic traffic = collectiveInfo(command.op).traffic;
      groups[command.communicator].add(traffic);
      isGraph &= traffic != Traffic::ToPicked;
    } else if (command.kind == DTCC_SEND || command.kind == DTCC_RECEIVE) {
      messages.insert({command.communicator, command.kind == DTCC_RECEIVE, image.attributes(command)[0]});
      isGraph = false;
    }
  for (const auto &[number, uses] : groups) {
    int64_t members = membersOf(image, image.communicators()[number]);
    if (uses.algorithms)
      result.groups += gpu_memory::groupBytes(members, withinNode);
    if (uses.all || uses.next)
      result.peers += std::min<int64_t>(members - 1, uses.all ? members : 1) * gpu_memory::peerBytes(withinNode);
  }
  for (const auto &[communicator, incoming, peer] : messages)
    result.peers += gpu_memory::messageBytes(incoming, withinNode);
  // A step that sends messages or rows is not captured as a graph.
  if (isGraph)
    for (const dtcc_action &action : rowsOf(stage.actions, image.actions()))
      for (const dtcc_phase &phase = image.phases()[action.phase];
           const dtcc_command &command : image.commands().subspan(phase.first_command, phase.command_count))
        result.graph += launchesOf(image, command) * gpu_memory::launchBytes;
  return result;
}

} // namespace dtcc::rt
