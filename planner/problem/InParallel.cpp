//===- InParallel.cpp - Calls a function for many indices on all cores
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/InParallel.h"
#include "runtime/abi/Cores.h"
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace dtcc::plan {

/// Number of threads that useThreads asked for; 0 if it was not called.
static std::atomic<size_t> given = 0;

void useThreads(size_t count) { given = count; }

size_t threads() { return given ? given.load() : std::min<size_t>(static_cast<size_t>(availableCores()), 16); }

void inParallel(size_t count, const std::function<void(size_t)> &each) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++)
      each(i);
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(threads(), count); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
}

} // namespace dtcc::plan
