//===- Trace.h - What ran when, for Perfetto ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank's record of its commands: a fixed number of events, kept in memory that
// is taken before the first step, and written as Chrome's trace JSON, which Perfetto
// opens. When it is full the rest of the run is not recorded.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_TRACE_H
#define DTCC_RUNTIME_IMAGE_TRACE_H

#include "runtime/image/Image.h"

#include <chrono>
#include <string>

namespace dtcc::rt {

/// "forward", "backward" or "update".
const char *passName(const dtcc_command &command);
/// Name of a command's work, for people: "matmul", "all_reduce", or "kernel" for generated code.
std::string opName(const Image &image, const dtcc_command &command);
/// Whether a command moves values between ranks.
bool isCommunication(const dtcc_command &command);

class Trace {
public:
  using Clock = std::chrono::steady_clock;
  struct Event {
    uint32_t command;
    uint32_t slot;
    int64_t step;
    Clock::time_point begin, end;
  };

  explicit Trace(size_t capacity = 200000) { events.reserve(capacity); }
  void add(const Event &event) {
    if (events.size() < events.capacity())
      events.push_back(event);
  }
  /// The events as JSON objects, one a line, separated by commas: process `rank`, a thread for each stream and one with
  /// the steps and their passes, times in microseconds since `origin`.
  std::string json(const Image &image, int64_t rank, Clock::time_point origin) const;
  const std::vector<Event> &recorded() const { return events; }

private:
  std::vector<Event> events;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_TRACE_H
