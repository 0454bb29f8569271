//===- Processes.cpp - Ranks that are processes of one node, without MPI -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serves torchrun (and whoever sets its variables: RANK, WORLD_SIZE, LOCAL_WORLD_SIZE,
// MASTER_PORT) when all processes stand on one node. Collectives are SharedGroup's in a
// shared file, in which the arenas lie too; messages pass through rings in it.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Roll.h"
#include "runtime/collective/SharedFile.h"
#include "runtime/collective/SharedGroup.h"
#include "runtime/collective/Single.h"
#include "runtime/core/Cores.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dtcc::rt {
namespace {

constexpr uint64_t page = 4096;
uint64_t roundToPage(uint64_t bytes) { return (bytes + page - 1) / page * page; }

/// Offset in the file of the rings of each rank's messages.
constexpr uint64_t ringsBegin = uint64_t(1) << 45;
constexpr uint64_t ringsOfRank = uint64_t(1) << 34;

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

/// The first page of the file.
struct Header {
  std::atomic<uint32_t> aborted; /* the exit status of the first rank that failed */
  std::atomic<uint32_t> spoken;  /* whether a process has said why */
  /// Whether ranks outnumber cores, which barriers depend on: process 0 says it, and raises this.
  Signal decided;
  uint32_t crowded;
};

/// Sees processes end.
class ProcessesWatch final : public Watch {
public:
  ProcessesWatch(const std::atomic<uint32_t> &aborted, const Launch &launch, const SharedFile &file)
      : Watch(aborted, launch.hangSeconds, launch.interrupted),
        roll(file, launch.process, launch.processes, launch.process) {}

private:
  std::string lost() override { return roll.ended(); }
  Roll roll;
};

/// Data that the communicators of one process share.
struct Shared {
  Shared(const Launch &launch, const std::string &job)
      : file(job, launch.process, launch.processes, /*seconds=*/60, launch.interrupted), first(file, 0, sizeof(Header)),
        header(reinterpret_cast<Header *>(first.data())), watch(header->aborted, launch, file),
        waiter(isCrowded(launch), watch), peers(file, launch.process, launch.processes),
        nextRing(ringsBegin + static_cast<uint64_t>(launch.process) * ringsOfRank) {}

  /// As process 0 has it: ranks may have different numbers of threads.
  bool isCrowded(const Launch &launch) {
    if (launch.process == 0) {
      header->crowded = launch.processes * launch.threads > machineCores();
      Waiter::raise(header->decided);
    }
    Waiter(/*oversubscribed=*/true, watch).await(header->decided, 1, [&] {
      return message("rank ", launch.process, " waits for rank 0 to begin");
    });
    return header->crowded != 0;
  }

  SharedFile file;
  Mapping first;
  Header *header;
  ProcessesWatch watch;
  Waiter waiter;
  PeerMemory peers;
  std::atomic<uint64_t> nextRing; /* where this rank's next ring goes; two threads of it may send */
};

class ProcessesCommunicator final : public Communicator {
public:
  ProcessesCommunicator(Shared &shared, const std::string &name, std::span<const int64_t> processes, int64_t index,
                        uint64_t offset)
      : Communicator(static_cast<int64_t>(processes.size()), index), shared(shared), name(name),
        memory(shared.file, offset, memoryBytes(members)),
        // SharedGroup::initialize would write zeros, and the file's are there already.
        group(name, memory.data(), members, index, /*direct=*/false, shared.waiter),
        channels(reinterpret_cast<Channel *>(memory.data() + channelsAt(members))), reserved(processes.size()),
        outgoing(reserved.size()), incoming(reserved.size()) {
    group.usePeers(shared.peers, {processes.begin(), processes.end()});
  }

  static uint64_t memoryBytes(int64_t size) {
    return channelsAt(size) + roundToPage(static_cast<uint64_t>(size * size) * sizeof(Channel));
  }

  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override {
    group.allReduce(in, out, count, type, reduction);
  }
  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    group.allGather(in, out, count, type);
  }
  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override {
    group.reduceScatter(in, out, count, type, reduction);
  }
  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    group.allToAll(in, out, count, type);
  }
  void allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) override {
    group.allToAllRows(in, out, rowBytes, lists);
  }
  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    group.broadcast(in, out, count, type);
  }
  void barrier() override { group.barrier(); }
  void useTeam(ThreadTeam &team) override { group.useTeam(team); }

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
      fail("a message of ", bytes, " bytes to member ", peer, " of group '", name, "' was not reserved");
    if (!ring) {
      to.slots = room.slots;
      to.slotBytes = (room.largest + 63) / 64 * 64 + sizeof(SlotHead);
      to.ring = shared.nextRing.fetch_add(roundToPage(to.slots * to.slotBytes));
      ring = std::make_unique<Mapping>(shared.file, to.ring, to.slots * to.slotBytes);
    }
    uint32_t number = to.posted.value.load(std::memory_order_relaxed);
    shared.waiter.await(to.taken, number - static_cast<uint32_t>(to.slots) + 1, [&] {
      return message("member ", me, " of group '", name, "' waits to send to member ", peer);
    });
    std::byte *slot = ring->data() + number % to.slots * to.slotBytes;
    reinterpret_cast<SlotHead *>(slot)->length = bytes;
    std::memcpy(slot + sizeof(SlotHead), data, static_cast<size_t>(bytes));
    Waiter::raise(to.posted);
  }

  void receive(void *data, int64_t bytes, int64_t peer) override {
    Channel &from = channels[peer * members + me];
    std::unique_ptr<Mapping> &ring = incoming[static_cast<size_t>(peer)];
    uint32_t number = from.taken.value.load(std::memory_order_relaxed);
    shared.waiter.await(from.posted, number + 1, [&] {
      return message("member ", me, " of group '", name, "' waits for a message of member ", peer);
    });
    if (!ring)
      ring = std::make_unique<Mapping>(shared.file, from.ring, from.slots * from.slotBytes);
    const std::byte *slot = ring->data() + number % from.slots * from.slotBytes;
    int64_t length = reinterpret_cast<const SlotHead *>(slot)->length;
    if (length != bytes)
      fail("member ", me, " of group '", name, "' expects a message of ", bytes, " bytes from member ", peer,
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
  struct Reserved {
    uint64_t slots = 0, largest = 0;
  };
  static uint64_t channelsAt(int64_t size) { return roundToPage(SharedGroup::memoryBytes(size, /*direct=*/false)); }

  Shared &shared;
  std::string name;
  Mapping memory;
  SharedGroup group;
  Channel *channels; /* [from][to] */
  std::vector<Reserved> reserved;
  std::vector<std::unique_ptr<Mapping>> outgoing, incoming; /* rings, by peer */
};

class ProcessesTransport final : public Transport {
public:
  ProcessesTransport(const Launch &launch, const std::string &job)
      : shared(launch, job), rank(launch.process), ranks(launch.processes) {}

  std::vector<int64_t> localRanks() const override { return {rank}; }

  std::unique_ptr<Communicator> group(const std::string &name, std::span<const int64_t> members,
                                      int64_t number) override {
    auto size = static_cast<int64_t>(members.size());
    auto index = std::find(members.begin(), members.end(), number) - members.begin();
    // All ranks make the same calls, so they agree on places without asking: one for
    // each rank that may be the first member. Untouched places take no memory.
    uint64_t unit = ProcessesCommunicator::memoryBytes(size);
    uint64_t offset = next + static_cast<uint64_t>(members[0]) * unit;
    next += static_cast<uint64_t>(ranks) * unit;
    if (size == 1)
      return createSingleCommunicator();
    return std::make_unique<ProcessesCommunicator>(shared, name, members, index, offset);
  }

  std::byte *allocate(uint64_t bytes) override { return shared.peers.allocate(bytes); }
  void abort(int status) noexcept override {
    uint32_t none = 0;
    shared.header->aborted.compare_exchange_strong(none, static_cast<uint32_t>(status));
  }
  Watch *watch() override { return &shared.watch; }
  std::optional<bool> speaks() noexcept override { return shared.header->spoken.exchange(1) == 0; }

private:
  Shared shared;
  int64_t rank, ranks;
  uint64_t next = page; /* after the header */
};

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

} // namespace

std::unique_ptr<Transport> createProcessesTransport(const Launch &launch) {
  if (launch.launcher != "torchrun" || launch.nodeProcesses != launch.processes)
    return nullptr;
  // One job's name: torchrun gives each run and each restart its own.
  std::string job = "dtcc-" + variable("MASTER_PORT") + "-" + variable("TORCHELASTIC_RUN_ID") + "-" +
                    variable("TORCHELASTIC_RESTART_COUNT");
  return std::make_unique<ProcessesTransport>(launch, job);
}

} // namespace dtcc::rt
