//===- NodeGroup.cpp - Groups of processes of one node -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/NodeGroup.h"

#include "runtime/collective/SharedGroup.h"
#include "runtime/collective/Single.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt {
namespace {

constexpr uint64_t page = 4096;
uint64_t roundToPage(uint64_t bytes) { return (bytes + page - 1) / page * page; }

/// Offsets in the file between which the rings of messages lie: behind the groups, in front of PeerMemory's tables.
/// Each rank of the node has an equal part.
constexpr uint64_t ringsBegin = uint64_t(1) << 45, ringsEnd = uint64_t(1) << 46;

/// A part of the file, mapped while the object lives.
class Mapping {
public:
  Mapping(const SharedFile &file, uint64_t offset, uint64_t size)
      : bytes(roundToPage(size)), address(static_cast<std::byte *>(file.map(offset, bytes))) {}
  ~Mapping() { SharedFile::unmap(address, bytes); }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  std::byte *data() const { return address; }

private:
  size_t bytes;
  std::byte *address;
};

/// Messages from one member to another. The ring is the sender's; its place is written
/// before the first message is posted. All zero at first.
struct Channel {
  alignas(64) Signal posted;
  alignas(64) Signal taken;
  uint64_t ring;  /* offset in the file */
  uint64_t slots; /* messages that fit */
  uint64_t slotBytes;
};
/// Before the message in its slot.
struct alignas(64) SlotHead {
  int64_t length;
};

class NodeCommunicator final : public SharedCommunicator {
public:
  NodeCommunicator(const SharedFile &file, PeerMemory &peers, const Waiter &waiter, RingPlaces &rings, Membership facts,
                   std::vector<int64_t> processes, uint64_t offset)
      : SharedCommunicator(static_cast<int64_t>(processes.size()), std::move(facts)), file(file), waiter(waiter),
        rings(rings), memory(file, offset, memoryBytes(members)),
        // SharedGroup::initialize would write zeros, and the file's are there already.
        group(membership, memory.data(), /*direct=*/false, waiter),
        channels(reinterpret_cast<Channel *>(memory.data() + channelsAt(members))), reserved(processes.size()),
        outgoing(reserved.size()), incoming(reserved.size()) {
    group.usePeers(peers, std::move(processes));
  }

  static uint64_t memoryBytes(int64_t size) {
    return channelsAt(size) + roundToPage(static_cast<uint64_t>(size * size) * sizeof(Channel));
  }

  void reserveSend(int64_t peer, int64_t bytes) override {
    Reserved &to = reserved[static_cast<size_t>(peer)];
    ++to.slots;
    to.largest = std::max(to.largest, static_cast<uint64_t>(bytes));
  }

  void send(const void *data, int64_t bytes, int64_t peer) override {
    Channel &to = channels[me * members + peer];
    const Reserved &room = reserved[static_cast<size_t>(peer)];
    std::unique_ptr<Mapping> &ring = outgoing[static_cast<size_t>(peer)];
    if (room.slots == 0 || static_cast<uint64_t>(bytes) > room.largest)
      fail("a message of ", bytes, " bytes to member ", peer, " of group '", membership.name, "' was not reserved");
    if (!ring) {
      to.slots = room.slots;
      to.slotBytes = (room.largest + 63) / 64 * 64 + sizeof(SlotHead);
      to.ring = rings.take(roundToPage(to.slots * to.slotBytes));
      ring = std::make_unique<Mapping>(file, to.ring, to.slots * to.slotBytes);
    }
    uint32_t number = to.posted.value.load(std::memory_order_relaxed);
    waiter.await(to.taken, number - static_cast<uint32_t>(to.slots) + 1,
                 [&] { return membership.waiting("a send", {peer}); });
    std::byte *slot = ring->data() + number % to.slots * to.slotBytes;
    reinterpret_cast<SlotHead *>(slot)->length = bytes;
    std::memcpy(slot + sizeof(SlotHead), data, static_cast<size_t>(bytes));
    Waiter::raise(to.posted);
  }

  void receive(void *data, int64_t bytes, int64_t peer) override {
    Channel &from = channels[peer * members + me];
    std::unique_ptr<Mapping> &ring = incoming[static_cast<size_t>(peer)];
    uint32_t number = from.taken.value.load(std::memory_order_relaxed);
    waiter.await(from.posted, number + 1, [&] { return membership.waiting("a receive", {peer}); });
    if (!ring)
      ring = std::make_unique<Mapping>(file, from.ring, from.slots * from.slotBytes);
    const std::byte *slot = ring->data() + number % from.slots * from.slotBytes;
    int64_t length = reinterpret_cast<const SlotHead *>(slot)->length;
    if (length != bytes)
      fail("member ", me, " of group '", membership.name, "' expects a message of ", bytes, " bytes from member ", peer,
           ", got: ", length);
    std::memcpy(data, slot + sizeof(SlotHead), static_cast<size_t>(bytes));
    Waiter::raise(from.taken);
  }

  uint64_t stagingBytes() const override {
    uint64_t bytes = me == 0 ? memoryBytes(members) : 0;
    for (const Reserved &to : reserved)
      bytes += to.slots * (to.largest + sizeof(SlotHead));
    return bytes;
  }

private:
  SharedGroup &shared() override { return group; }
  struct Reserved {
    uint64_t slots = 0, largest = 0;
  };
  static uint64_t channelsAt(int64_t size) { return roundToPage(SharedGroup::memoryBytes(size, /*direct=*/false)); }

  const SharedFile &file;
  const Waiter &waiter;
  RingPlaces &rings;
  Mapping memory;
  SharedGroup group;
  Channel *channels; /* [from][to] */
  std::vector<Reserved> reserved;
  std::vector<std::unique_ptr<Mapping>> outgoing, incoming; /* rings, by peer */
};

} // namespace

/// The first page of the file.
struct Node::Header {
  std::atomic<uint32_t> aborted; /* the exit status of the first rank that failed */
  std::atomic<uint32_t> spoken;  /* whether a process has said why */
  /// Whether ranks outnumber cores, which barriers depend on: process 0 says it, and raises this.
  Signal decided;
  uint32_t crowded;
};

Node::Node(const std::string &job, const Launch &launch, std::vector<int64_t> nodeRanks, int64_t processNumber)
    : ranks(std::move(nodeRanks)), process(processNumber),
      file(job, process, static_cast<int64_t>(ranks.size()), /*seconds=*/60, launch.interrupted),
      header(static_cast<Header *>(file.map(0, page))),
      entries(file, process, static_cast<int64_t>(ranks.size()), ranks[static_cast<size_t>(process)]),
      peers(file, process, static_cast<int64_t>(ranks.size())), next(page),
      rings(ringsBegin, ringsEnd, ranks.size(), static_cast<uint64_t>(process)) {}

RingPlaces::RingPlaces(uint64_t begin, uint64_t end, uint64_t ranks, uint64_t number)
    : room((end - begin) / ranks / page * page), next(begin + number * room), end(next + room) {}

uint64_t RingPlaces::take(uint64_t bytes) {
  uint64_t place = next.load();
  do
    if (bytes > end - place)
      fail("the messages that a rank may send to others of its host must need at most ", room,
           " bytes, got: ", room - (end - place), " and ", bytes, " more");
  while (!next.compare_exchange_weak(place, place + bytes));
  return place;
}

Node::~Node() { SharedFile::unmap(header, page); }

void Node::begin(bool crowded, Watch &watch) {
  // Ranks may have different numbers of threads, and must decide alike.
  if (process == 0) {
    header->crowded = crowded;
    Waiter::raise(header->decided);
  }
  Waiter(/*oversubscribed=*/true, watch).await(header->decided, 1, [&] {
    return Wait{ranks[static_cast<size_t>(process)], "the start of this node's ranks", {ranks[0]}, ""};
  });
  waiter.emplace(header->crowded != 0, watch);
}

std::atomic<uint32_t> &Node::aborted() const { return header->aborted; }
bool Node::speaksFirst() noexcept { return header->spoken.exchange(1) == 0; }
void Node::abort(int status) noexcept {
  uint32_t none = 0;
  header->aborted.compare_exchange_strong(none, static_cast<uint32_t>(status));
}

std::unique_ptr<Communicator> Node::group(const std::string &name, std::span<const int64_t> members) {
  auto processOf = [&](int64_t rank) { return std::find(ranks.begin(), ranks.end(), rank) - ranks.begin(); };
  // All processes make the same calls, so they agree on places without asking: one for each
  // that may be the first member. Untouched places take no memory.
  uint64_t unit = NodeCommunicator::memoryBytes(static_cast<int64_t>(ranks.size()));
  uint64_t offset = next + static_cast<uint64_t>(processOf(members[0])) * unit;
  next += static_cast<uint64_t>(ranks.size()) * unit;
  if (next > ringsBegin)
    fail("the groups of the ranks of a host must need at most ", ringsBegin, " bytes, got: ", next, " with the group '",
         name, "'");
  if (members.size() == 1)
    return createSingleCommunicator();
  std::vector<int64_t> processes;
  for (int64_t rank : members)
    processes.push_back(processOf(rank));
  int64_t index = std::find(processes.begin(), processes.end(), process) - processes.begin();
  return std::make_unique<NodeCommunicator>(
      file, peers, *waiter, rings, Membership{name, {members.begin(), members.end()}, index}, processes, offset);
}

} // namespace dtcc::rt
