//===- Capture.h - What a stream records instead of doing it --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A captured graph is the list of what its streams were given, in that order. A launch
// gives it again: to the stream that it is launched on what the capture's origin was given,
// and to streams of the graph's own what the others were. So all that the emulator finds in
// streams (missing waits, orders that CUDA leaves open) it finds in graphs.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_CUDA_CAPTURE_H
#define DTCC_TESTS_EMULATOR_CUDA_CAPTURE_H

#include "tests/emulator/cuda/Streams.h"

namespace dtcc::emulator {

/// Work that a call gives to a stream. It runs with the lock held, and may release it.
using Issue = std::function<void(Lock &, Stream &)>;

struct Capture {
  struct Step {
    enum { Work, Record, Wait } kind = Work;
    size_t stream = 0; ///< in `streams`
    Issue work;
    size_t record = 0; ///< which one is made, or waited for
  };
  /// Number of steps of each stream that are known to be done.
  using Clock = std::vector<size_t>;

  std::thread::id thread;
  bool anyThread = false;        ///< the mode is relaxed
  bool invalid = false;          ///< a call was made that a capture forbids
  std::vector<Stream *> streams; ///< the origin first
  std::vector<Clock> known;      ///< by stream
  std::vector<Clock> records;
  std::vector<Step> steps;

  /// The number of a stream that takes part; it does from now on.
  size_t numberOf(Stream &stream);
  void add(Step step);
  void record(Stream &stream, Event &event);
  void wait(Stream &stream, const Event &event);
  /// Whether all that the streams were given comes before what the origin is given next.
  bool isJoined() const;
};

/// Fails, and makes the capture worthless, if the calling thread captures: `call` is not allowed then.
void forbidInCapture(const char *call);

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_CUDA_CAPTURE_H
