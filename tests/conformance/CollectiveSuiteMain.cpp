//===- CollectiveSuiteMain.cpp - The suite on every backend --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without a launcher: the backends of one process, at several numbers of ranks. Under
// mpirun: the processes that it started. Exit status 0 if all is right.
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/CollectiveSuite.h"

#include "runtime/core/Error.h"
#include "runtime/core/ThreadTeam.h"

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

/// Runs the suite on one rank. Returns the first failure, or nothing.
static std::string runRank(Transport &transport, int64_t ranks, int64_t rank) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < ranks; ++i)
    all.push_back(i);
  auto world = transport.group("world", all, rank);
  std::string wrong = checkCollectives(*world);
  if (wrong.empty())
    wrong = checkLarge(*world);
  if (wrong.empty())
    wrong = checkAllocated(transport, *world);
  if (wrong.empty())
    wrong = checkRows(*world);
  // A team of two threads must give equal bits.
  ThreadTeam team(2);
  world->useTeam(team);
  if (wrong.empty())
    wrong = checkLarge(*world);
  if (wrong.empty())
    wrong = checkRows(*world);
  if (wrong.empty())
    wrong = checkMessages(*world);
  auto ring = transport.group("ring", all, rank);
  if (wrong.empty())
    wrong = checkShifts(*ring);
  if (wrong.empty() && ranks == 4)
    wrong = checkGroups(transport, rank, 2, 2);
  world->barrier();
  return wrong;
}

static bool runAll(const Launch &launch) {
  auto transport = createTransport(launch);
  std::mutex lock;
  bool good = true;
  auto body = [&](int64_t rank) {
    std::string wrong = runRank(*transport, launch.ranks, rank);
    std::lock_guard<std::mutex> guard(lock);
    if (!wrong.empty())
      std::cerr << "rank " << rank << ": " << wrong << "\n";
    good &= wrong.empty();
  };
  std::vector<int64_t> ranks = transport->localRanks();
  std::vector<std::thread> threads;
  for (size_t i = 1; i < ranks.size(); ++i)
    threads.emplace_back(body, ranks[i]);
  body(ranks[0]);
  for (std::thread &thread : threads)
    thread.join();
  return good;
}

int main() {
  Launch launch;
  try {
    detectLauncher(launch);
    if (!launch.launcher.empty()) {
      launch.ranks = launch.processes;
      joinRun(launch);
      return runAll(launch) ? 0 : 1;
    }
    bool good = true;
    for (int64_t ranks : {1, 2, 3, 4}) {
      launch.ranks = ranks;
      good &= runAll(launch);
    }
    return good ? 0 : 1;
  } catch (const Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
