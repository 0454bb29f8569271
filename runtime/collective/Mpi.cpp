//===- Mpi.cpp - Ranks that are MPI processes ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plugin libdtcc_mpi.so: the only code that sees MPI's headers, because MPI's
// handles differ between implementations. Build it once per MPI; MpiLoader.cpp
// finds and opens it.
//
// Groups whose members stand on one node use SharedGroup, which is faster than MPI's
// collectives and has the bits of the Threads backend: in place in arenas that lie in a
// shared file, through a shared window elsewhere or where there can be no such file.
// Other groups exchange slices by MPI and reduce them in the order of the group, so
// they too have the same bits. The rank's thread alone calls MPI (MPI_THREAD_FUNNELED).
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/PeerMemory.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/Roll.h"
#include "runtime/collective/SharedGroup.h"
#include "runtime/collective/Single.h"
#include "runtime/core/Cores.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <optional>
#include <random>
#include <sched.h>
#include <unistd.h>

namespace dtcc::rt {
namespace {

/// An unsigned MPI type as wide as `type`: the collectives only move bits.
MPI_Datatype movedType(dtcc_dtype type) {
  switch (dtcc_dtype_size(type)) {
  case 8:
    return MPI_UINT64_T;
  case 4:
    return MPI_UINT32_T;
  case 2:
    return MPI_UINT16_T;
  default:
    return MPI_UINT8_T;
  }
}

int intCount(int64_t count) {
  if (count > INT32_MAX)
    fail("MPI can move at most 2147483647 elements at once, got: ", count);
  return static_cast<int>(count);
}

class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(const std::string &name, MPI_Comm comm, int64_t size, int64_t index, const Waiter &waiter,
                  bool window, PeerMemory *peers, int64_t nodeRank)
      : Communicator(size, index), name(name), comm(comm), rings(static_cast<size_t>(size)) {
    if (window)
      openWindow(waiter);
    if (shared && peers) {
      std::vector<int64_t> numbers(static_cast<size_t>(size));
      MPI_Allgather(&nodeRank, 1, MPI_INT64_T, numbers.data(), 1, MPI_INT64_T, comm);
      shared->usePeers(*peers, std::move(numbers));
    }
    if (!shared) {
      pack.resize(static_cast<size_t>(chunkBytes));
      received.resize(static_cast<size_t>(chunkBytes));
    }
  }
  ~MpiCommunicator() override {
    for (Ring &ring : rings)
      for (Message &message : ring.messages)
        MPI_Wait(&message.request, MPI_STATUS_IGNORE);
    if (windowHandle != MPI_WIN_NULL)
      MPI_Win_free(&windowHandle);
    MPI_Comm_free(&comm);
  }

  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override {
    if (shared)
      return shared->allReduce(in, out, count, type, reduction);
    int64_t width = dtcc_dtype_size(type), chunk = chunkBytes / width / members * members;
    for (int64_t at = 0; at < count; at += chunk) {
      int64_t length = std::min(chunk, count - at), part = (length + members - 1) / members;
      std::vector<int> counts, starts, mineCounts(static_cast<size_t>(members)), mineStarts;
      for (int64_t i = 0; i < members; ++i) {
        starts.push_back(static_cast<int>(std::min(length, i * part)));
        counts.push_back(static_cast<int>(std::min(length, (i + 1) * part)) - starts.back());
        mineStarts.push_back(static_cast<int>(i * part));
      }
      int mine = counts[static_cast<size_t>(me)];
      std::fill(mineCounts.begin(), mineCounts.end(), mine);
      const auto *from = static_cast<const std::byte *>(in) + at * width;
      MPI_Alltoallv(from, counts.data(), starts.data(), movedType(type), received.data(), mineCounts.data(),
                    mineStarts.data(), movedType(type), comm);
      reduceReceived(part, mine, pack.data(), type, reduction);
      MPI_Allgatherv(pack.data(), mine, movedType(type), static_cast<std::byte *>(out) + at * width, counts.data(),
                     starts.data(), movedType(type), comm);
    }
  }

  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    if (shared)
      return shared->allGather(in, out, count, type);
    bool inPlace = in == static_cast<std::byte *>(out) + me * count * dtcc_dtype_size(type);
    MPI_Allgather(inPlace ? MPI_IN_PLACE : in, intCount(count), movedType(type), out, intCount(count), movedType(type),
                  comm);
  }

  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override {
    if (shared)
      return shared->reduceScatter(in, out, count, type, reduction);
    int64_t width = dtcc_dtype_size(type), chunk = chunkBytes / width / members;
    for (int64_t at = 0; at < count; at += chunk) {
      int64_t length = std::min(chunk, count - at);
      for (int64_t i = 0; i < members; ++i)
        std::memcpy(pack.data() + i * length * width, static_cast<const std::byte *>(in) + (i * count + at) * width,
                    static_cast<size_t>(length * width));
      MPI_Alltoall(pack.data(), static_cast<int>(length), movedType(type), received.data(), static_cast<int>(length),
                   movedType(type), comm);
      reduceReceived(length, length, static_cast<std::byte *>(out) + at * width, type, reduction);
    }
  }

  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    if (shared)
      return shared->allToAll(in, out, count, type);
    MPI_Alltoall(in, intCount(count), movedType(type), out, intCount(count), movedType(type), comm);
  }

  void allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) override {
    if (shared)
      return shared->allToAllRows(in, out, rowBytes, lists);
    MPI_Datatype row;
    MPI_Type_contiguous(intCount(rowBytes), MPI_BYTE, &row);
    // The rows of each peer as one type: MPI reads and writes them where they lie.
    auto typesOf = [&](std::span<const int64_t> rows, std::span<const int64_t> counts) {
      std::vector<MPI_Datatype> types;
      std::vector<int> places;
      for (size_t peer = 0, first = 0; peer < counts.size(); first += static_cast<size_t>(counts[peer++])) {
        places.clear();
        for (int64_t at : rows.subspan(first, static_cast<size_t>(counts[peer])))
          places.push_back(intCount(at));
        MPI_Type_create_indexed_block(intCount(counts[peer]), 1, places.data(), row, &types.emplace_back());
        MPI_Type_commit(&types.back());
      }
      return types;
    };
    std::vector<MPI_Datatype> sent = typesOf(lists.sendRows, lists.sendCounts);
    std::vector<MPI_Datatype> expected = typesOf(lists.receiveRows, lists.receiveCounts);
    std::vector<int> sends, receives, starts(static_cast<size_t>(members), 0);
    for (size_t peer = 0; peer < sent.size(); ++peer) {
      sends.push_back(lists.sendCounts[peer] > 0);
      receives.push_back(lists.receiveCounts[peer] > 0);
    }
    MPI_Alltoallw(in, sends.data(), starts.data(), sent.data(), out, receives.data(), starts.data(), expected.data(),
                  comm);
    for (std::vector<MPI_Datatype> *types : {&sent, &expected})
      for (MPI_Datatype &type : *types)
        MPI_Type_free(&type);
    MPI_Type_free(&row);
  }

  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) override {
    if (shared)
      return shared->broadcast(in, out, count, type);
    if (me == 0 && in != out)
      std::memcpy(out, in, static_cast<size_t>(count * dtcc_dtype_size(type)));
    MPI_Bcast(out, intCount(count), movedType(type), 0, comm);
  }

  void barrier() override {
    if (shared)
      return shared->barrier();
    MPI_Barrier(comm);
  }

  void reserveSend(int64_t peer, int64_t bytes) override {
    Ring &ring = rings[static_cast<size_t>(peer)];
    ring.largest = std::max(ring.largest, bytes);
    ring.messages.emplace_back();
    for (Message &message : ring.messages)
      message.bytes.resize(static_cast<size_t>(ring.largest));
  }
  void send(const void *data, int64_t bytes, int64_t peer) override {
    Ring &ring = rings[static_cast<size_t>(peer)];
    if (ring.messages.empty() || bytes > ring.largest)
      fail("a message of ", bytes, " bytes to member ", peer, " of group '", name, "' was not reserved");
    Message &message = ring.messages[ring.next++ % ring.messages.size()];
    MPI_Wait(&message.request, MPI_STATUS_IGNORE);
    std::memcpy(message.bytes.data(), data, static_cast<size_t>(bytes));
    MPI_Isend(message.bytes.data(), intCount(bytes), MPI_BYTE, static_cast<int>(peer), 0, comm, &message.request);
  }
  void receive(void *data, int64_t bytes, int64_t peer) override {
    MPI_Status status;
    MPI_Recv(data, intCount(bytes), MPI_BYTE, static_cast<int>(peer), 0, comm, &status);
    int got = 0;
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (got != bytes)
      fail("member ", me, " of group '", name, "' expects a message of ", bytes, " bytes from member ", peer,
           ", got: ", got);
  }

  void useTeam(ThreadTeam &team) override {
    if (shared)
      shared->useTeam(team);
  }

  uint64_t stagingBytes() const override {
    uint64_t bytes = pack.size() + received.size();
    if (shared && me == 0)
      bytes += SharedGroup::memoryBytes(members, /*direct=*/false);
    for (const Ring &ring : rings)
      bytes += ring.messages.size() * static_cast<uint64_t>(ring.largest);
    return bytes;
  }

private:
  struct Message {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Ring {
    std::vector<Message> messages;
    int64_t largest = 0;
    size_t next = 0;
  };

  /// A window of member 0's that all address. Members on several nodes have none.
  void openWindow(const Waiter &waiter) {
    MPI_Comm node;
    int nodeSize = 0;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, static_cast<int>(me), MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &nodeSize);
    int alone = nodeSize == members, all = 0;
    MPI_Allreduce(&alone, &all, 1, MPI_INT, MPI_MIN, comm);
    if (all) {
      size_t bytes = SharedGroup::memoryBytes(members, /*direct=*/false);
      void *mine = nullptr, *memory = nullptr;
      MPI_Win_allocate_shared(me == 0 ? static_cast<MPI_Aint>(bytes + 64) : 0, 1, MPI_INFO_NULL, node, &mine,
                              &windowHandle);
      MPI_Aint size = 0;
      int unit = 0;
      MPI_Win_shared_query(windowHandle, 0, &size, &unit, &memory);
      size_t space = static_cast<size_t>(size);
      // Pages of a window begin at the same offset in every process.
      std::align(64, bytes, memory, space);
      if (me == 0) {
        std::memset(memory, 0, bytes);
        SharedGroup::initialize(memory, members);
      }
      MPI_Barrier(node);
      shared.emplace(name, memory, members, me, /*direct=*/false, waiter);
    }
    MPI_Comm_free(&node);
  }

  /// The members' pieces lie in `received`, `stride` elements apart.
  void reduceReceived(int64_t stride, int64_t count, void *out, dtcc_dtype type, dtcc_reduction reduction) {
    std::vector<const void *> sources;
    for (int64_t i = 0; i < members; ++i)
      sources.push_back(received.data() + i * stride * dtcc_dtype_size(type));
    reduceElements(type, reduction, sources, {&out, 1}, 0, count, 0);
  }

  static constexpr int64_t chunkBytes = 4 << 20;
  std::string name;
  MPI_Comm comm;
  MPI_Win windowHandle = MPI_WIN_NULL;
  std::optional<SharedGroup> shared;
  std::vector<std::byte> pack, received;
  std::vector<Ring> rings;
};

/// Sees processes of this node end, which MPI does too, but some launchers only tell.
class MpiWatch final : public Watch {
public:
  MpiWatch(const std::atomic<uint32_t> &aborted, const Launch &launch)
      : Watch(aborted, launch.hangSeconds, launch.interrupted) {}
  std::optional<Roll> roll; /* where the processes of a node share memory */

private:
  std::string lost() override { return roll ? roll->ended() : std::string(); }
};

class MpiTransport final : public Transport {
public:
  explicit MpiTransport(const Launch &launch) : stops(aborted, launch) {
    // Processes that outnumber the cores must not spin inside MPI either; a value
    // that the user gave stands.
    if (launch.nodeProcesses * launch.threads > machineCores())
      setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
#ifdef OPEN_MPI
    // It would end the process with a message about a "NULL communicator".
    if (launch.launcher == "srun" && !std::getenv("PMIX_RANK") && !std::getenv("PMI_RANK"))
      fail("srun started this process for no MPI: give srun --mpi=pmix (srun --mpi=list says what this cluster has)");
#endif
    int provided = 0, size = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != launch.ranks)
      fail("the plan has ", launch.ranks, " ranks, and MPI connects ", size, " processes (started by ", launch.launcher,
           "): its MPI and the plugin's must be the same");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    waiter.emplace(nodeOversubscribed(launch.threads), stops);
    const char *off = std::getenv("DTCC_MPI_WINDOW");
    window = !off || std::strcmp(off, "0") != 0;
    if (window)
      openFile();
  }
  ~MpiTransport() override {
    MPI_Comm_free(&node);
    MPI_Finalize();
  }

  std::vector<int64_t> localRanks() const override { return {rank}; }
  bool isConcurrent() const override { return false; } // one thread calls MPI

  std::unique_ptr<Communicator> group(const std::string &name, std::span<const int64_t> members,
                                      int64_t rank) override {
    auto index = std::find(members.begin(), members.end(), rank) - members.begin();
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(members[0]), static_cast<int>(index), &comm);
    if (members.size() == 1) {
      MPI_Comm_free(&comm);
      return createSingleCommunicator();
    }
    return std::make_unique<MpiCommunicator>(name, comm, static_cast<int64_t>(members.size()), index, *waiter, window,
                                             peers ? &*peers : nullptr, nodeRank);
  }

  std::byte *allocate(uint64_t bytes) override { return peers ? peers->allocate(bytes) : nullptr; }
  void abort(int status) noexcept override {
    // The launcher may take its time to end the others.
    if (stops.roll)
      stops.roll->leave();
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  Watch *watch() override { return &stops; }

private:
  /// Compares the threads of this node's processes with the cores of all their
  /// affinity masks together.
  bool nodeOversubscribed(int threads) const {
    cpu_set_t mine, all;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof(mine), &mine);
    MPI_Allreduce(&mine, &all, sizeof(mine), MPI_BYTE, MPI_BOR, node);
    int total = 0;
    MPI_Allreduce(&threads, &total, 1, MPI_INT, MPI_SUM, node);
    return total > std::min(CPU_COUNT(&all), machineCores());
  }

  /// The memory that the processes of this node share, if all of them can have it.
  void openFile() {
    int number = 0, size = 0, good = 1, all = 0;
    MPI_Comm_rank(node, &number);
    MPI_Comm_size(node, &size);
    nodeRank = number;
    // One job's name; processes of other containers may have the same number.
    uint64_t job = static_cast<uint64_t>(std::random_device()()) << 32 | static_cast<uint32_t>(getpid());
    MPI_Bcast(&job, 1, MPI_UINT64_T, 0, node);
    try {
      file.emplace("dtcc-mpi-" + std::to_string(job), number, size, /*seconds=*/10, nullptr);
      peers.emplace(*file, number, size);
      stops.roll.emplace(*file, number, size, rank);
    } catch (const Error &) {
      good = 0; // for instance processes in containers of their own: all are staged
    }
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, node);
    if (!all) {
      peers.reset();
      stops.roll.reset();
    }
  }

  int rank = 0;
  bool window = true;
  MPI_Comm node = MPI_COMM_NULL; /* processes of this node */
  int64_t nodeRank = 0;
  std::optional<SharedFile> file;
  std::optional<PeerMemory> peers;  /* in `file` */
  std::atomic<uint32_t> aborted{0}; /* never set: MPI_Abort ends all processes */
  MpiWatch stops;
  std::optional<Waiter> waiter;
};

} // namespace
} // namespace dtcc::rt

extern "C" __attribute__((visibility("default"))) dtcc::rt::Transport *
dtcc_mpi_transport_v3(const dtcc::rt::Launch *launch) {
  return new dtcc::rt::MpiTransport(*launch);
}
