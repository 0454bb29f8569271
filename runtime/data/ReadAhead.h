//===- ReadAhead.h - Reading data before its step --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that brings the pages of the next step's samples into memory while the step before runs. It holds no copy
// of them: the step copies from the files' mappings as it would without the thread, and waits for the disk only where
// the thread has not come so far. Each rank has one.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_READAHEAD_H
#define DTCC_RUNTIME_DATA_READAHEAD_H

#include "runtime/data/Batches.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace dtcc::rt {

class ReadAhead {
public:
  /// Starts the thread that reads ahead for `rank`. `batches` must outlive the object.
  ReadAhead(const Batches &batches, int64_t rank);
  ~ReadAhead();
  ReadAhead(const ReadAhead &) = delete;
  ReadAhead &operator=(const ReadAhead &) = delete;

  /// Begins to read the step that begins at sample `first`, and leaves an earlier one unfinished.
  void begin(int64_t first);

private:
  void run();

  const Batches &batches;
  const int64_t rank;
  std::mutex lock;
  std::condition_variable changed;
  std::atomic<int64_t> wanted{none};
  static constexpr int64_t none = -1, end = -2;
  std::thread thread;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_READAHEAD_H
