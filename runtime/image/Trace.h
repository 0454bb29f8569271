//===- Trace.h - What ran when, for Perfetto ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank's record of its commands: a fixed number of events, kept in memory that
// is taken before the first step, and written as Chrome's trace JSON, which Perfetto
// opens. When it is full the rest of the run is not recorded; a window of steps says
// which part of a long run is.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_TRACE_H
#define DTCC_RUNTIME_IMAGE_TRACE_H

#include "runtime/image/Image.h"

#include <chrono>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dtcc::rt {

/// The steps that a trace records, both ends among them.
struct StepWindow {
  int64_t first = 1, last = std::numeric_limits<int64_t>::max();
  bool holds(int64_t step) const { return first <= step && step <= last; }
};

/// "forward", "backward" or "update".
const char *passName(const dtcc_command &command);
/// Whether each command, by its number, belongs to evaluations alone.
std::vector<bool> evaluationCommands(const Image &image);
/// The layer that holds a module: its path up to the first number, as "blocks.3" of "blocks.3.mlp.up", or to the first
/// dot if it has no number.
std::string_view layerOf(std::string_view module);
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

  explicit Trace(StepWindow window = {}, size_t capacity = 200000) : window(window) { events.reserve(capacity); }
  /// Whether commands of this step are recorded, as far as there is room.
  bool records(int64_t step) const { return window.holds(step); }
  void add(const Event &event) {
    if (events.size() < events.capacity())
      events.push_back(event);
    else
      left += 1;
  }
  /// Takes over the events of `other`; all are then in the order in which they began.
  void merge(const Trace &other);
  /// The events as JSON objects, one a line, separated by commas: process `rank`, a thread for each stream, one with
  /// the steps and their passes and one with the layers of the model, times in microseconds since `origin`.
  std::string json(const Image &image, int64_t rank, Clock::time_point origin) const;
  const std::vector<Event> &recorded() const { return events; }
  /// Number of events for which there was no room.
  size_t leftOut() const { return left; }

private:
  StepWindow window;
  std::vector<Event> events;
  size_t left = 0;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_TRACE_H
