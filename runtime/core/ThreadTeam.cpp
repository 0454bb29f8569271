//===- ThreadTeam.cpp - The threads of one rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/ThreadTeam.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <exception>
#include <mutex>

// libgomp's entry points, as the compilers emit calls to them. Naming them here
// keeps clang's own OpenMP runtime out of the program.
extern "C" {
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
void omp_set_num_threads(int threads);
}

namespace dtcc::rt {
namespace {

struct Region {
  int64_t extent;
  int parts;
  void (*body)(void *, int64_t, int64_t, int);
  void *closure;
  std::mutex lock;
  std::exception_ptr failure;
};

void runPart(Region &region, int part) {
  int64_t quotient = region.extent / region.parts, rest = region.extent % region.parts;
  int64_t begin = part * quotient + std::min<int64_t>(part, rest);
  int64_t end = begin + quotient + (part < rest ? 1 : 0);
  region.body(region.closure, begin, end, part);
}

void regionEntry(void *data) {
  Region &region = *static_cast<Region *>(data);
  int part = omp_get_thread_num();
  if (part >= region.parts)
    return;
  try {
    runPart(region, part);
  } catch (...) {
    // An exception may not cross libgomp's frames.
    std::lock_guard<std::mutex> guard(region.lock);
    region.failure = std::current_exception();
  }
}

} // namespace

ThreadTeam::ThreadTeam(int threads) : count(threads) {
  if (threads < 1)
    fail("threads of a rank must be at least 1, got: ", threads);
  omp_set_num_threads(threads);
}

int ThreadTeam::parts(int64_t extent, int64_t grain) const {
  int64_t wanted = extent / std::max<int64_t>(grain, 1);
  return static_cast<int>(std::clamp<int64_t>(wanted, 1, count));
}

void ThreadTeam::run(int64_t extent, int parts, Body body, void *closure) {
  if (extent <= 0)
    return;
  Region region{extent, parts, body, closure, {}, {}};
  if (parts == 1) {
    runPart(region, 0);
    return;
  }
  // Always the whole team: libgomp ends the threads that a smaller region leaves
  // out, and would start them again for the next.
  GOMP_parallel(regionEntry, &region, static_cast<unsigned>(count), 0);
  if (region.failure)
    std::rethrow_exception(region.failure);
}

} // namespace dtcc::rt
