//===- Threads.cpp - Ranks that are threads of one process ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The embedded default: needs nothing but the process. Collectives are those of
// SharedGroup with direct access; messages are copied into the sender's ring of
// staging buffers and from there by the receiver.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Cores.h"
#include "runtime/collective/SharedGroup.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

namespace dtcc::rt {
namespace {

/// Messages from one member to another.
struct Channel {
  alignas(64) Signal posted;
  alignas(64) Signal taken;
  struct Message {
    std::vector<std::byte> bytes;
    int64_t length = 0;
  };
  std::vector<Message> ring;
};

/// Memory that the members of one group share.
struct GroupMemory {
  explicit GroupMemory(int64_t size)
      : shared(std::aligned_alloc(64, SharedGroup::memoryBytes(size, true)), &std::free),
        channels(static_cast<size_t>(size * size)) {
    if (!shared)
      throw std::bad_alloc();
    std::memset(shared.get(), 0, SharedGroup::memoryBytes(size, true));
    SharedGroup::initialize(shared.get(), size);
  }
  std::unique_ptr<void, void (*)(void *)> shared;
  std::vector<Channel> channels; /* [from][to] */
};

class ThreadsCommunicator final : public SharedCommunicator {
public:
  ThreadsCommunicator(Membership facts, std::shared_ptr<GroupMemory> memory, const Waiter &waiter)
      : SharedCommunicator(static_cast<int64_t>(facts.ranks.size()), std::move(facts)), memory(memory), waiter(waiter),
        group(membership, memory->shared.get(), /*direct=*/true, waiter) {}

  void reserveSend(int64_t peer, int64_t bytes) override {
    Channel &to = channel(me, peer);
    size_t largest = static_cast<size_t>(bytes);
    for (const Channel::Message &message : to.ring)
      largest = std::max(largest, message.bytes.size());
    to.ring.emplace_back();
    for (Channel::Message &message : to.ring)
      message.bytes.resize(largest);
  }
  void send(const void *data, int64_t bytes, int64_t peer) override {
    Channel &to = channel(me, peer);
    auto depth = static_cast<uint32_t>(to.ring.size());
    uint32_t number = to.posted.value.load(std::memory_order_relaxed);
    if (depth == 0 || bytes > static_cast<int64_t>(to.ring[0].bytes.size()))
      fail("a message of ", bytes, " bytes to member ", peer, " of group '", membership.name, "' was not reserved");
    waiter.await(to.taken, number - depth + 1, [&] { return membership.waiting("a send", {peer}); });
    Channel::Message &slot = to.ring[number % depth];
    slot.length = bytes;
    std::memcpy(slot.bytes.data(), data, static_cast<size_t>(bytes));
    Waiter::raise(to.posted);
  }
  void receive(void *data, int64_t bytes, int64_t peer) override {
    Channel &from = channel(peer, me);
    uint32_t number = from.taken.value.load(std::memory_order_relaxed);
    waiter.await(from.posted, number + 1, [&] { return membership.waiting("a receive", {peer}); });
    const Channel::Message &slot = from.ring[number % from.ring.size()];
    if (slot.length != bytes)
      fail("member ", me, " of group '", membership.name, "' expects a message of ", bytes, " bytes from member ", peer,
           ", got: ", slot.length);
    std::memcpy(data, slot.bytes.data(), static_cast<size_t>(bytes));
    Waiter::raise(from.taken);
  }

  uint64_t stagingBytes() const override {
    // Shared memory is counted once, with member 0.
    uint64_t bytes = me == 0 ? SharedGroup::memoryBytes(members, true) : 0;
    for (int64_t peer = 0; peer < members; ++peer)
      for (const Channel::Message &message : memory->channels[static_cast<size_t>(me * members + peer)].ring)
        bytes += message.bytes.size();
    return bytes;
  }

private:
  SharedGroup &shared() override { return group; }
  Channel &channel(int64_t from, int64_t to) { return memory->channels[static_cast<size_t>(from * members + to)]; }

  std::shared_ptr<GroupMemory> memory;
  Waiter waiter;
  SharedGroup group;
};

class ThreadsTransport final : public Transport {
public:
  explicit ThreadsTransport(const Launch &launch)
      : ranks(launch.ranks), stops(aborted, launch.hangSeconds, launch.interrupted),
        waiter(launch.ranks * launch.threads > availableCores(), stops) {}

  std::vector<int64_t> localRanks() const override {
    std::vector<int64_t> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  std::unique_ptr<Communicator> group(const std::string &name, std::span<const int64_t> members,
                                      int64_t rank) override {
    auto size = static_cast<int64_t>(members.size());
    auto index = std::find(members.begin(), members.end(), rank) - members.begin();
    std::lock_guard<std::mutex> guard(lock);
    std::shared_ptr<GroupMemory> &memory = groups[{name, {members.begin(), members.end()}}];
    if (!memory)
      memory = std::make_shared<GroupMemory>(size);
    return std::make_unique<ThreadsCommunicator>(Membership{name, {members.begin(), members.end()}, index}, memory,
                                                 waiter);
  }

  void abort(int status) noexcept override {
    uint32_t none = 0;
    aborted.compare_exchange_strong(none, static_cast<uint32_t>(status));
  }
  Watch *watch() override { return &stops; }

private:
  int64_t ranks;
  std::atomic<uint32_t> aborted{0};
  Watch stops;
  Waiter waiter;
  std::mutex lock;
  std::map<std::pair<std::string, std::vector<int64_t>>, std::shared_ptr<GroupMemory>> groups;
};

} // namespace

std::unique_ptr<Transport> createThreadsTransport(const Launch &launch) {
  if (!launch.launcher.empty())
    return nullptr;
  return std::make_unique<ThreadsTransport>(launch);
}

} // namespace dtcc::rt
