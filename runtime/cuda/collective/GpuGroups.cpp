//===- GpuGroups.cpp - What a rank's GPU communicates by
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/GpuGroups.h"
#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/collective/Exchange.h"
#include "runtime/device/CommandCollective.h"

#include <algorithm>

namespace dtcc::rt::cuda {
namespace {

std::string nameOf(const Image &image, size_t communicator) {
  return std::string(image.string(image.communicators()[communicator].name));
}

/// Whether a command for which `uses` holds names each communicator.
template <typename Uses> std::vector<bool> usedBy(const Rank &rank, Uses uses) {
  std::vector<bool> used(rank.communicators.size());
  for (const dtcc_command &command : rank.image.commands())
    if (uses(command))
      used[command.communicator] = true;
  return used;
}

} // namespace

void GpuGroups::open() {
  if (setup.transport && setup.transport->watch())
    dog = std::make_unique<Watchdog>(gpu, setup.rank.abi.rank, *setup.transport);
  openCollectives();
  openMessages();
}

void GpuGroups::openCollectives() {
  const Rank &rank = setup.rank;
  const std::vector<bool> used = usedBy(rank, NcclCommunicator::takes);
  collectives.resize(used.size());
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i])
      collectives[i] = NcclCommunicator::open(*rank.communicators[i], nameOf(rank.image, i), gpu, dog.get());
}

void GpuGroups::openMessages() {
  const Rank &rank = setup.rank;
  const std::vector<bool> used = usedBy(rank, [](const dtcc_command &command) { return command.kind == DTCC_SEND; });
  std::vector<NcclMessages::Rooms> rooms(used.size());
  for (const dtcc_phase &phase : rowsOf(rank.stage.phases, rank.image.phases())) {
    std::map<std::pair<uint32_t, int64_t>, NcclMessages::Arrivals> received;
    for (const dtcc_command &command : rowsOf({phase.first_command, phase.command_count}, rank.image.commands())) {
      if (command.kind != DTCC_SEND && command.kind != DTCC_RECEIVE)
        continue;
      const auto attributes = rank.image.attributes(command);
      const int64_t bytes = messageBytes(rank.image, command);
      if (command.kind == DTCC_RECEIVE) {
        received[{command.communicator, attributes[0]}].add(bytes);
        continue;
      }
      NcclMessages::Room &room = rooms[command.communicator].out[attributes[0]];
      room.messages += attributes[1];
      room.bytes = std::max(room.bytes, bytes);
    }
    for (const auto &[channel, some] : received)
      rooms[channel.first].in[channel.second].takeMore(some);
  }
  messages.resize(used.size());
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i])
      messages[i] = NcclMessages::open(
          *rank.communicators[i], nameOf(rank.image, i), rooms[i],
          [this](uint64_t bytes) { return takeMessage(bytes); }, gpu, dog.get());
}

CUdeviceptr GpuGroups::takeMessage(uint64_t bytes) {
  if (room.end == 0)
    return gpu.allocate(bytes, "a message on its way");
  CUdeviceptr at = room.begin;
  room.begin += static_cast<uint64_t>(gpu_workspace::piece(static_cast<int64_t>(bytes)));
  if (room.begin > room.end)
    fail("the program was planned with too little memory for the messages on their way");
  return at;
}

bool GpuGroups::useNccl() const {
  auto isThere = [](const auto &each) { return each != nullptr; };
  return std::ranges::any_of(collectives, isThere) || std::ranges::any_of(messages, isThere);
}

bool GpuGroups::shareGpu() const {
  return std::ranges::any_of(collectives, [](const auto &group) { return group && group->sharesGpu(); });
}

bool GpuGroups::goesThroughHost(const dtcc_command &command) const {
  if (command.kind == DTCC_SEND || command.kind == DTCC_RECEIVE)
    return !messages[command.communicator];
  return !collectives[command.communicator] || !NcclCommunicator::takes(command);
}

void GpuGroups::expect(std::span<const uint32_t> receives, CUstream stream) {
  const Image &image = setup.rank.image;
  std::map<std::pair<uint32_t, int64_t>, std::vector<int64_t>> bytes;
  for (uint32_t number : receives) {
    const dtcc_command &command = image.commands()[number];
    bytes[{command.communicator, image.attributes(command)[0]}].push_back(messageBytes(image, command));
  }
  for (const auto &[channel, some] : bytes)
    if (NcclMessages *messages = this->messages[channel.first].get())
      messages->expect(some, channel.second, stream);
}

void GpuGroups::run(const dtcc_command &command, GpuRows *rows, CUstream stream, void *const *buffers) {
  const Image &image = setup.rank.image;
  if (goesThroughHost(command))
    return exchangeThroughHost(gpu, setup.rank, command, stream, buffers);
  if (command.kind == DTCC_SEND)
    return messages[command.communicator]->send(buffers[0], messageBytes(image, command), image.attributes(command)[0],
                                                stream);
  if (command.kind == DTCC_RECEIVE)
    return messages[command.communicator]->receive(buffers[0], messageBytes(image, command),
                                                   image.attributes(command)[0], stream);
  NcclCommunicator &group = *collectives[command.communicator];
  group.useStream(stream);
  if (rows)
    return rows->run(gpu, group, stream, buffers);
  runCommunication(image, command, group, buffers);
}

} // namespace dtcc::rt::cuda
