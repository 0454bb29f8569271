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
// MPI starts the processes, tells them of each other and carries messages between hosts
// (MpiLink). Processes of one host share a file (NodeGroup.h), which is faster than MPI's
// collectives; where they can have none, every process is a host of its own. Groups are
// TwoLevelGroups. The rank's thread alone calls MPI (MPI_THREAD_FUNNELED).
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Cores.h"
#include "runtime/collective/NodeGroup.h"
#include "runtime/collective/Single.h"
#include "runtime/collective/mpi/MpiLink.h"
#include "runtime/collective/network/HostsWatch.h"
#include "runtime/collective/network/TwoLevelGroup.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <sched.h>
#include <thread>
#include <unistd.h>

namespace dtcc::rt {
namespace {

/// Ends the process if a call of MPI that nothing can interrupt does not return.
class Guard {
public:
  Guard(int seconds, int status, std::string said)
      : thread([this, seconds, status, said] {
          std::unique_lock<std::mutex> guard(lock);
          if (changed.wait_for(guard, std::chrono::seconds(seconds), [this] { return done; }))
            return;
          if (!said.empty())
            std::cerr << message("error: no progress for ", seconds, " s: ", said, "\n") << std::flush;
          _exit(status);
        }) {}
  ~Guard() {
    {
      std::lock_guard<std::mutex> guard(lock);
      done = true;
    }
    changed.notify_all();
    thread.join();
  }

private:
  std::mutex lock;
  std::condition_variable changed;
  bool done = false;
  std::thread thread;
};

/// How one process is described to all.
struct Card {
  HostsWatch::Place place;
  int64_t threads;
  cpu_set_t cores;
};

/// The watch of an MPI process. Questions of others come as messages of MPI, which it answers while it waits. Where
/// processes share no memory it keeps the note of its own rank.
class MpiWatch final : public HostsWatch {
public:
  using HostsWatch::HostsWatch;
  MpiLink *answering = nullptr; /* the link, while it is open */

  Position &position() { return table ? table->position() : alone; }
  std::map<int64_t, Note> near() override {
    if (table)
      return HostsWatch::near();
    return {{rank, Note{true, absent, said, alone.step.load(), alone.command.load()}}};
  }

private:
  void tell(const Wait *wait) override {
    HostsWatch::tell(wait);
    said = wait && !table ? text(*wait) : std::string();
    absent = wait && !wait->absent.empty() ? wait->absent.front() : -1;
    if (answering && wait)
      answering->answer();
  }

  Position alone;      /* of this rank */
  int64_t absent = -1; /* of the wait of this rank */
  std::string said;
};

class MpiTransport final : public Transport {
public:
  explicit MpiTransport(const Launch &launch) : launch(launch), stops(aborted, launch) {
    // Processes that outnumber the cores must not spin inside MPI either; a value
    // that the user gave stands.
    if (launch.nodeProcesses * launch.threads > machineCores())
      setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
    Guard guard(launch.hangSeconds, static_cast<int>(Status::Hang),
                message("rank ", launch.process, " waits for all ranks to begin, in MPI_Init"));
    int provided = 0, size = 0, number = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    stops.rank = number;
    if (size != launch.ranks)
      fail("the plan has ", launch.ranks, " ranks, and MPI connects ", size, " processes (started by ", launch.launcher,
           "): its MPI and the plugin's must be the same");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    Card mine{{HostName::ofThis(), getpid()}, launch.threads, {}};
    sched_getaffinity(0, sizeof(mine.cores), &mine.cores);
    cards.resize(static_cast<size_t>(size));
    MPI_Allgather(&mine, sizeof(Card), MPI_BYTE, cards.data(), sizeof(Card), MPI_BYTE, comm);
    for (const Card &card : cards)
      stops.places.push_back(card.place);
    const char *window = std::getenv("DTCC_MPI_WINDOW");
    bool shares = !window || std::strcmp(window, "0") != 0;
    findHosts(shares);
    link.emplace(comm, stops, isCrowded(), [this] { return stops.near(); });
    stops.link = stops.answering = &*link;
    if (shares)
      openNode();
  }
  ~MpiTransport() override {
    Guard guard(launch.hangSeconds, static_cast<int>(Status::Hang),
                message("rank ", stops.rank, " waits for all ranks to end, in MPI_Finalize"));
    stops.link = stops.answering = nullptr;
    link.reset();
    stops.table = nullptr;
    node.reset();
    MPI_Comm_free(&comm);
    MPI_Finalize();
  }

  std::vector<int64_t> localRanks() const override { return {stops.rank}; }
  bool isConcurrent() const override { return false; } // one thread calls MPI

  std::unique_ptr<Communicator> group(const std::string &name, std::span<const int64_t> members,
                                      int64_t rank) override {
    return twoLevelGroup(name, members, rank, hosts, node ? &*node : nullptr, *link, channel);
  }

  std::byte *allocate(uint64_t bytes) override { return node ? node->allocate(bytes) : nullptr; }
  void abort(int status) noexcept override {
    // The rank that says why must not be ended before, and may ask what this one was doing.
    for (int turns = 0; isSilent && turns < 300; ++turns) {
      // A GPU's watchdog must not call MPI.
      if (std::this_thread::get_id() == thread)
        link->answer();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    // The launcher may take its time to end the others, or be out of reach.
    if (node)
      node->processTable().leave();
    Guard guard(/*seconds=*/3, status, "");
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  Watch *watch() override { return &stops; }
  Position *position() override { return &stops.position(); }
  void tellWhere(const Whereabouts *now) override { stops.tellWhere(now); }
  std::string everyRank() noexcept override { return stops.everyRank(launch.ranks); }
  std::optional<bool> speaks() noexcept override {
    bool first = !node || node->speaksFirst();
    // A GPU's watchdog may ask, which must not call MPI. Ranks of all hosts may have met the same bad input: rank 0's
    // host says so.
    if (first && std::this_thread::get_id() == thread)
      first = link->speaksFirst(launch.ranks, hosts[static_cast<size_t>(stops.rank)] == 0 ? 0 : 1.5);
    isSilent = !first;
    return first;
  }

private:
  /// Ranks of one host, which may share memory, get one number.
  void findHosts(bool shares) {
    for (size_t rank = 0; rank < cards.size(); ++rank) {
      auto same = [&](const Card &card) { return card.place.host == cards[rank].place.host; };
      auto first = std::find_if(cards.begin(), cards.end(), same);
      hosts.push_back(shares ? first - cards.begin() : static_cast<int64_t>(rank));
    }
  }
  std::vector<int64_t> neighbours() const {
    std::vector<int64_t> ranks;
    for (size_t rank = 0; rank < cards.size(); ++rank)
      if (cards[rank].place.host == cards[static_cast<size_t>(stops.rank)].place.host)
        ranks.push_back(static_cast<int64_t>(rank));
    return ranks;
  }
  /// Compares the threads of this host's processes with the cores of all their affinity masks together.
  bool isCrowded() const {
    cpu_set_t all;
    CPU_ZERO(&all);
    int64_t total = 0;
    for (int64_t rank : neighbours()) {
      const Card &card = cards[static_cast<size_t>(rank)];
      CPU_OR(&all, &all, &card.cores);
      total += card.threads;
    }
    return total > std::min(CPU_COUNT(&all), machineCores());
  }

  /// The memory that the processes of a host share, if all of all hosts can have it.
  void openNode() {
    std::vector<int64_t> ranks = neighbours();
    int64_t number = std::find(ranks.begin(), ranks.end(), stops.rank) - ranks.begin();
    // One job's name, that nobody guesses; processes of other containers may have the same number.
    uint64_t job = static_cast<uint64_t>(std::random_device()()) << 32 | static_cast<uint32_t>(getpid());
    MPI_Bcast(&job, 1, MPI_UINT64_T, 0, comm);
    int good = 1, all = 0;
    try {
      node.emplace("dtcc-mpi-" + std::to_string(job) + "-" + std::to_string(ranks[0]), launch, ranks, number);
    } catch (const Error &) {
      good = 0; // every process is a host of its own
    }
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm);
    if (all) {
      stops.table = &node->processTable();
      return node->begin(isCrowded(), stops);
    }
    node.reset();
    std::iota(hosts.begin(), hosts.end(), 0);
  }

  Launch launch;
  std::thread::id thread = std::this_thread::get_id(); /* the one that calls MPI */
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<uint32_t> aborted{0}; /* never set: MPI_Abort ends all processes */
  MpiWatch stops;
  std::vector<Card> cards;    /* by rank */
  std::vector<int64_t> hosts; /* by rank */
  std::optional<MpiLink> link;
  std::optional<Node> node;          /* where the processes of a host share memory */
  uint32_t channel = 0;              /* of the next group */
  std::atomic<bool> isSilent{false}; /* another rank says why all end */
};

} // namespace
} // namespace dtcc::rt

extern "C" __attribute__((visibility("default"))) dtcc::rt::Transport *
dtcc_mpi_transport_v5(const dtcc::rt::Launch *launch) {
  return new dtcc::rt::MpiTransport(*launch);
}
