//===- CollectiveBenchmark.cpp - The runtime's collectives ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of this process: collective-benchmark RANKS. Under mpirun: the plugin; by torchrun's variables: processes
// that meet by TCP. A second argument is the least number of bytes, a third the only operation.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"
#include "tests/benchmarks/collectives/Sizes.h"

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <thread>

using namespace dtcc::rt;
using namespace dtcc::rt::bench;

static void runRank(Transport &transport, const char *backend, int64_t ranks, int64_t rank, int64_t least,
                    std::string_view only) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < ranks; ++i)
    all.push_back(i);
  auto group = transport.group("world", all, rank);
  // The memory that a program would use for its arenas.
  std::vector<float> memory[2];
  auto allocate = [&](std::vector<float> &own) {
    auto *given = reinterpret_cast<float *>(transport.allocate(static_cast<uint64_t>(sizes.back())));
    if (!given)
      own.resize(static_cast<size_t>(sizes.back() / 4));
    float *data = given ? given : own.data();
    std::fill_n(data, sizes.back() / 4, 1.0f);
    return data;
  };
  float *in = allocate(memory[0]), *out = allocate(memory[1]);
  for (const char *operation : operations)
    for (int64_t bytes : sizes) {
      int64_t count = bytes / 4, part = count / ranks;
      if (bytes < least || (!only.empty() && only != operation))
        continue;
      if (operation != operations[0] && part == 0)
        continue;
      auto body = [&] {
        if (operation == operations[0])
          group->allReduce(in, in, count, DTCC_F32, DTCC_MAX);
        else if (operation == operations[1])
          group->allGather(in, out, part, DTCC_F32);
        else if (operation == operations[2])
          group->reduceScatter(in, out, part, DTCC_F32, DTCC_SUM);
        else
          group->allToAll(in, out, part, DTCC_F32);
      };
      double seconds = measure(bytes, body, [&] { group->barrier(); });
      if (rank == 0)
        print(backend, operation, ranks, bytes, seconds);
    }
}

int main(int argc, char **argv) {
  try {
    Launch launch;
    detectLauncher(launch);
    launch.ranks = launch.launcher.empty() ? (argc > 1 ? std::atoi(argv[1]) : 2) : launch.processes;
    joinRun(launch);
    auto transport = createTransport(launch);
    const int64_t least = argc > 2 ? std::atoll(argv[2]) : 0;
    const std::string_view only = argc > 3 ? argv[3] : "";
    const char *backend = launch.launcher.empty() ? "threads" : "dtcc-mpi";
    std::vector<int64_t> ranks = transport->localRanks();
    std::vector<std::thread> threads;
    for (size_t i = 1; i < ranks.size(); ++i)
      threads.emplace_back([&, i] { runRank(*transport, backend, launch.ranks, ranks[i], least, only); });
    runRank(*transport, backend, launch.ranks, ranks[0], least, only);
    for (std::thread &thread : threads)
      thread.join();
  } catch (const Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
