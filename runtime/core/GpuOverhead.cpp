//===- GpuOverhead.cpp - What a rank has on a GPU besides its arenas
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/GpuOverhead.h"

#include "runtime/abi/GpuMemory.h"

#include <bit>
#include <map>
#include <set>

namespace dtcc::rt {

/// Of the group of a communicator that a rank takes part in; of its outermost axis some coordinates alone may.
static int64_t membersOf(const Image &image, const dtcc_communicator &communicator) {
  int64_t members = 1;
  for (uint32_t i = 0; i < communicator.axes.count; ++i) {
    const int64_t all = image.axes()[communicator.axes.ids[i]].size;
    members *= i == 0 && communicator.members ? std::popcount(communicator.members) : all;
  }
  return members;
}

GpuOverhead gpuOverhead(const Image &image, const dtcc_stage &stage) {
  GpuOverhead result;
  result.context = gpu_memory::contextBytes;
  std::set<uint32_t> groups;
  // By communicator, the other ranks that are sent to or received from; all of them: those that rows go to.
  std::map<uint32_t, std::set<int64_t>> messages;
  std::set<uint32_t> rows;
  for (const dtcc_command &command : Image::rowsOf(stage.commands, image.commands()))
    switch (command.kind) {
    case DTCC_COLLECTIVE:
      (command.op == DTCC_DISPATCH_ROWS || command.op == DTCC_COMBINE_ROWS ? rows : groups)
          .insert(command.communicator);
      break;
    case DTCC_SEND:
    case DTCC_RECEIVE:
      messages[command.communicator].insert(image.attributes(command)[0]);
      break;
    default:
      break;
    }
  for (uint32_t group : groups)
    result.groups += gpu_memory::groupBytes(membersOf(image, image.communicators()[group]), /*withinNode=*/true);
  for (const auto &[group, peers] : messages)
    result.peers += static_cast<int64_t>(peers.size()) * gpu_memory::peerBytes(/*withinNode=*/true);
  for (uint32_t group : rows)
    result.peers += (membersOf(image, image.communicators()[group]) - 1) * gpu_memory::peerBytes(/*withinNode=*/true);
  // Steps with messages or rows on their way are no graphs.
  if (messages.empty() && rows.empty())
    for (const dtcc_action &action : Image::rowsOf(stage.actions, image.actions()))
      result.graph += image.phases()[action.phase].command_count * gpu_memory::launchBytes;
  return result;
}

} // namespace dtcc::rt
