//===- ThreadTeam.cpp - The threads of one rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/ThreadTeam.h"

#include "runtime/core/Error.h"
#include "runtime/core/OpenMp.h"

#include <algorithm>
#include <exception>
#include <mutex>

namespace dtcc::rt {
namespace {

struct Region {
  int64_t extent;
  int parts;
  void (*body)(void *, int64_t, int64_t, int);
  void *closure;
  std::mutex lock;
  std::exception_ptr failure;
  int failedPart = 0;
};

void runPart(Region &region, int part) {
  int64_t quotient = region.extent / region.parts, rest = region.extent % region.parts;
  int64_t begin = part * quotient + std::min<int64_t>(part, rest);
  int64_t end = begin + quotient + (part < rest ? 1 : 0);
  region.body(region.closure, begin, end, part);
}

void regionEntry(void *data) {
  Region &region = *static_cast<Region *>(data);
  // libgomp starts fewer threads than it is asked for where OMP_THREAD_LIMIT or a lack of resources says so. The
  // parts of absent threads must be run all the same; no part waits for another, so any thread may run several.
  const int threads = openMp()->teamThreads();
  for (int part = openMp()->threadNumber(); part < region.parts; part += threads) {
    try {
      runPart(region, part);
    } catch (...) {
      // An exception may not cross libgomp's frames. The first part's is kept, as if
      // the loop had run in order.
      std::lock_guard<std::mutex> guard(region.lock);
      if (!region.failure || part < region.failedPart) {
        region.failure = std::current_exception();
        region.failedPart = part;
      }
    }
  }
}

} // namespace

ThreadTeam::ThreadTeam(int threads) : count(threads) {
  if (threads < 1)
    fail("threads of a rank must be at least 1, got: ", threads);
  const OpenMp *library = openMp();
  if (library) {
    // OMP_DYNAMIC would let libgomp take fewer threads on a busy machine, and start the others anew for a later loop.
    library->setDynamic(0);
    // oneDNN divides its work by this number beforehand, so the number must be one that libgomp can give.
    library->setThreads(std::min(threads, library->threadLimit()));
  } else if (threads > 1)
    fail("cannot open libgomp.so.1, which ", threads, " threads a rank need: install it, or give --threads=1");
}

int ThreadTeam::parts(int64_t extent, int64_t grain) const {
  int64_t wanted = extent / std::max<int64_t>(grain, 1);
  return static_cast<int>(std::clamp<int64_t>(wanted, 1, count));
}

void ThreadTeam::run(int64_t extent, int parts, Body body, void *closure) {
  if (extent <= 0)
    return;
  Region region{extent, parts, body, closure, {}, {}, 0};
  if (parts == 1) {
    runPart(region, 0);
    return;
  }
  // Always the whole team: libgomp ends the threads that a smaller region leaves
  // out, and would start them again for the next.
  openMp()->parallel(regionEntry, &region, static_cast<unsigned>(count), 0);
  if (region.failure)
    std::rethrow_exception(region.failure);
}

} // namespace dtcc::rt
