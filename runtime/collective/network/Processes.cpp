//===- Processes.cpp - Ranks that are processes, without MPI -- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serves processes that torchrun, srun without MPI, or a loop over ssh has started. Those of one
// host share a file (NodeGroup.h). Where there are several hosts the processes have met
// (Meeting.h), and connections between them carry the messages of TwoLevelGroups.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Cores.h"
#include "runtime/collective/NodeGroup.h"
#include "runtime/collective/network/HostsWatch.h"
#include "runtime/collective/network/Meeting.h"
#include "runtime/collective/network/Secret.h"
#include "runtime/collective/network/TcpLink.h"
#include "runtime/collective/network/TwoLevelGroup.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>
#include <unistd.h>

namespace dtcc::rt {
namespace {

std::vector<int64_t> allRanks(int64_t count) {
  std::vector<int64_t> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Names the file that the processes of a host share. Nobody learns the token from it.
std::string jobOf(const Launch &launch) {
  if (launch.meeting)
    return "dtcc-" + launch.meeting->session();
  return message("dtcc-", geteuid(), "-", std::hash<std::string>()(launch.token));
}

class ProcessesTransport final : public Transport {
public:
  explicit ProcessesTransport(const Launch &launch)
      : ranks(launch.meeting ? launch.meeting->neighbours(launch.process) : allRanks(launch.processes)),
        rank(launch.process), processes(launch.processes),
        node(jobOf(launch), launch, ranks, std::find(ranks.begin(), ranks.end(), rank) - ranks.begin()),
        stops(node.aborted(), launch), hosts(launch.meeting ? launch.meeting->hosts() : allRanks(0)) {
    stops.rank = rank;
    stops.table = &node.processTable();
    if (launch.meeting)
      for (const MemberCard &card : launch.meeting->members())
        stops.places.push_back({card.host, card.pid});
    node.begin(static_cast<int64_t>(ranks.size()) * launch.threads > machineCores(), stops);
    if (static_cast<int64_t>(ranks.size()) == launch.processes)
      return;
    link.emplace(launch.meeting->connect(launch), node.waiting(), node.aborted(), [this] { return stops.near(); });
    stops.link = &*link;
  }
  ~ProcessesTransport() override { stops.link = nullptr; }

  std::vector<int64_t> localRanks() const override { return {rank}; }
  // The rank's thread alone waits for the link.
  bool isConcurrent() const override { return !link; }
  std::unique_ptr<Communicator> group(const std::string &name, std::span<const int64_t> members, int64_t) override {
    return link ? twoLevelGroup(name, members, rank, hosts, &node, *link, channel) : node.group(name, members);
  }
  std::byte *allocate(uint64_t bytes) override { return node.allocate(bytes); }
  Position *position() override { return &node.processTable().position(); }
  void tellWhere(const Whereabouts *now) override { stops.tellWhere(now); }
  std::string everyRank() noexcept override { return stops.everyRank(processes); }
  void abort(int status) noexcept override {
    // Another process of this host reports the hang, and first asks every process what it waits for. This one stays up
    // to 3 s to answer, until the reporter has aborted the node.
    for (int turns = 0; isSilent && status == static_cast<int>(Status::Hang) && !node.aborted() && turns < 150; ++turns)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    node.abort(status);
    // Other hosts expect the reason of a failure from exactly one process: the one of this host that says it tells
    // them.
    if (link && !isSilent && !link->wasTold())
      link->abort(status);
  }
  Watch *watch() override { return &stops; }
  std::optional<bool> speaks() noexcept override {
    isSilent = true;
    if (!node.speaksFirst())
      return false;
    // Ranks of all hosts may have met the same bad input: rank 0's host says so.
    for (int turns = 0; link && ranks[0] != 0 && turns < 10 && !link->wasTold(); ++turns)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    isSilent = link && link->wasTold();
    if (link && !isSilent)
      link->speak();
    return !isSilent;
  }

private:
  std::vector<int64_t> ranks; /* of this host */
  int64_t rank, processes;
  Node node;
  HostsWatch stops;
  std::vector<int64_t> hosts;        /* by rank */
  std::optional<TcpLink> link;       /* where there are others */
  uint32_t channel = 0;              /* of the next group */
  std::atomic<bool> isSilent{false}; /* another rank says why all end */
};

} // namespace

std::unique_ptr<Transport> createProcessesTransport(const Launch &launch) {
  if (launch.launcher.empty() || launch.token.empty())
    return nullptr;
  return std::make_unique<ProcessesTransport>(launch);
}

} // namespace dtcc::rt
