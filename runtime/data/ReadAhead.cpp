//===- ReadAhead.cpp - Reading data before its step ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/ReadAhead.h"

namespace dtcc::rt {

ReadAhead::ReadAhead(const Batches &batches, int64_t rank) : batches(batches), rank(rank), thread([this] { run(); }) {}

ReadAhead::~ReadAhead() {
  begin(end);
  thread.join();
}

void ReadAhead::begin(int64_t first) {
  {
    std::lock_guard<std::mutex> guard(lock);
    wanted = first;
  }
  changed.notify_one();
}

void ReadAhead::run() {
  for (int64_t done = none;;) {
    {
      std::unique_lock<std::mutex> guard(lock);
      changed.wait(guard, [&] { return wanted != done; });
      done = wanted;
    }
    if (done == end)
      return;
    batches.touch(rank, done, [&] { return wanted != done; });
  }
}

} // namespace dtcc::rt
