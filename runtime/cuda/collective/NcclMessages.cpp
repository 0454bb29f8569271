//===- NcclMessages.cpp - Messages between GPUs ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/NcclMessages.h"

#include "runtime/abi/GpuMemory.h"
#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <iterator>

namespace dtcc::rt::cuda {
void NcclMessages::Arrivals::add(int64_t message) {
  ++messages;
  bytes += gpu_workspace::piece(message);
}

void NcclMessages::Arrivals::takeMore(const Arrivals &other) {
  messages = std::max(messages, other.messages);
  bytes = std::max(bytes, other.bytes);
}

std::unique_ptr<NcclMessages> NcclMessages::open(Communicator &host, const std::string &name, const Rooms &rooms,
                                                 const Memory &memory, Gpu &gpu, Watchdog *dog) {
  if (NcclMember::agree(host, gpu) == NcclUse::None)
    return nullptr;
  auto size = static_cast<size_t>(host.size());
  auto me = host.index();
  // The pairs of members that exchange messages, with the NCCL identity of each: [from][to].
  struct Pair {
    NcclId id;
    char isUsed;
  };
  std::vector<Pair> mine(size), all(size * size);
  for (const auto &[peer, room] : rooms.out)
    mine[static_cast<size_t>(peer)] = {NcclMember::makeId(gpu), 1};
  host.allGather(mine.data(), all.data(), static_cast<int64_t>(size * sizeof(Pair)), DTCC_I8);
  std::unique_ptr<NcclMessages> made(new NcclMessages(gpu));
  CUdeviceptr first = gpu.allocate(1, "the first message of a pair");
  for (int64_t from = 0; from < host.size(); ++from) {
    for (int64_t to = 0; to < host.size(); ++to) {
      const Pair &pair = all[static_cast<size_t>(from) * size + static_cast<size_t>(to)];
      // One command serves all members, and some never run it.
      if (!pair.isUsed || from == to || (from != me && to != me))
        continue;
      NcclMember *member = made->pairs
                               .emplace_back(std::make_unique<NcclMember>(pair.id, 2, from == me ? 0 : 1,
                                                                          message(name, ", member ", from, " to ", to),
                                                                          gpu, dog, gpu_memory::messageChannels))
                               .get();
      if (to == me) {
        const Arrivals &arrivals = rooms.in.at(from);
        Incoming &in = made->incoming[from];
        in.pair = member;
        in.stream = gpu.newStream();
        in.memory = memory(static_cast<uint64_t>(arrivals.bytes));
        std::generate_n(std::back_inserter(in.arrived), arrivals.messages, [&] { return gpu.event(); });
        in.expectedFrom = gpu.event();
        in.taken = gpu.event();
        in.issue(first, 1);
        member->watch("ncclRecv", in.stream);
        continue;
      }
      Outgoing &out = made->outgoing[to];
      out.pair = member;
      out.stream = gpu.newStream();
      const Room &room = rooms.out.at(to);
      for (int64_t i = 0; i < room.messages; ++i)
        out.slots.push_back({memory(static_cast<uint64_t>(room.bytes)), gpu.event(), gpu.event()});
      out.issue(first, 1);
    }
  }
  for (auto &[peer, in] : made->incoming)
    gpu.synchronize(in.stream);
  for (auto &[peer, out] : made->outgoing)
    gpu.synchronize(out.stream);
  return made;
}

NcclMessages::~NcclMessages() {
  for (std::unique_ptr<NcclMember> &pair : pairs)
    pair.reset();
}

void NcclMessages::Outgoing::issue(CUdeviceptr data, int64_t bytes) {
  pair->issue("ncclSend", stream, [&](void *group) {
    return nccl().send(reinterpret_cast<const void *>(data), static_cast<size_t>(bytes), kInt8, 1, group, stream);
  });
}

void NcclMessages::Incoming::issue(CUdeviceptr data, int64_t bytes) {
  pair->issueUnwatched("ncclRecv", [&](void *group) {
    return nccl().receive(reinterpret_cast<void *>(data), static_cast<size_t>(bytes), kInt8, 0, group, stream);
  });
}

void NcclMessages::Incoming::begin(Gpu &gpu) {
  if (expected.empty() || !begun.empty())
    return;
  received = 0;
  gpu.wait(stream, taken);
  CUdeviceptr place = memory;
  for (int64_t bytes : expected.front()) {
    issue(place, bytes);
    gpu.record(arrived[begun.size()], stream);
    begun.push_back(place);
    place += static_cast<CUdeviceptr>(gpu_workspace::piece(bytes));
  }
  expected.pop_front();
}

void NcclMessages::send(const void *data, int64_t bytes, int64_t peer, CUstream stream) {
  Outgoing &out = outgoing.at(peer);
  Slot &slot = out.slots[out.count % out.slots.size()];
  if (out.count++ >= out.slots.size())
    gpu.wait(stream, slot.sent);
  gpu.copyWithin(slot.place, reinterpret_cast<CUdeviceptr>(data), static_cast<uint64_t>(bytes), stream);
  gpu.record(slot.filled, stream);
  gpu.wait(out.stream, slot.filled);
  out.issue(slot.place, bytes);
  gpu.record(slot.sent, out.stream);
}

void NcclMessages::expect(std::span<const int64_t> bytes, int64_t peer, CUstream stream) {
  Incoming &in = incoming.at(peer);
  gpu.record(in.expectedFrom, stream);
  gpu.wait(in.stream, in.expectedFrom);
  in.expected.emplace_back(bytes.begin(), bytes.end());
  in.begin(gpu);
}

void NcclMessages::receive(void *data, int64_t bytes, int64_t peer, CUstream stream) {
  Incoming &in = incoming.at(peer);
  if (in.begun.empty())
    expect(std::span(&bytes, 1), peer, stream);
  gpu.wait(stream, in.arrived[in.received++]);
  in.pair->watch("ncclRecv", stream);
  gpu.copyWithin(reinterpret_cast<CUdeviceptr>(data), in.begun.front(), static_cast<uint64_t>(bytes), stream);
  gpu.record(in.taken, stream);
  in.begun.pop_front();
  in.begin(gpu);
}

} // namespace dtcc::rt::cuda
