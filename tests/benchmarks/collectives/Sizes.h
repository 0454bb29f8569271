//===- Sizes.h - What is measured, and how it is printed ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both programs measure the same collectives at the same sizes, in the same way: the
// median over rounds of the time that the slowest rank needs for a burst.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_BENCHMARKS_COLLECTIVES_SIZES_H
#define DTCC_TESTS_BENCHMARKS_COLLECTIVES_SIZES_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace dtcc::rt::bench {

/// Bytes of f32 on each rank: the whole buffer of an all-reduce, the larger side of the
/// others.
inline const std::vector<int64_t> sizes{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10,
                                        1 << 20, 4 << 20, 16 << 20, 64 << 20};
inline const char *const operations[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};

/// Seconds a call of `body`, which all ranks make together; `barrier` lines them up.
template <typename Body, typename Barrier> double measure(int64_t bytes, Body body, Barrier barrier) {
  int burst = static_cast<int>(std::clamp<int64_t>((4 << 20) / std::max<int64_t>(bytes, 1), 1, 200));
  std::vector<double> rounds;
  for (int round = 0; round < 9; ++round) {
    barrier();
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < burst; ++i)
      body();
    barrier();
    rounds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / burst);
  }
  std::sort(rounds.begin() + 1, rounds.end()); // the first warms up
  return rounds[1 + (rounds.size() - 1) / 2];
}

inline void print(const char *backend, const char *operation, int64_t ranks, int64_t bytes, double seconds) {
  std::printf("{\"backend\":\"%s\",\"op\":\"%s\",\"ranks\":%lld,\"bytes\":%lld,\"microseconds\":%.2f,"
              "\"gb_per_second\":%.3f}\n",
              backend, operation, static_cast<long long>(ranks), static_cast<long long>(bytes), seconds * 1e6,
              static_cast<double>(bytes) / seconds * 1e-9);
  std::fflush(stdout);
}

} // namespace dtcc::rt::bench

#endif // DTCC_TESTS_BENCHMARKS_COLLECTIVES_SIZES_H
