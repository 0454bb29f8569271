//===- PlacedBuffers.h - Where the buffers of an arena lie so far
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the smallest gap for a buffer between those that live at the same time. Buffers are kept by offset in runs of
// at most kMostOfRun. A run that the buffer meets as a whole, or not at all, is passed in one step: of 100,000 saved
// activations each meets all others, and is placed in some thousand steps.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_COMMANDS_PLACEDBUFFERS_H
#define DTCC_PASSES_EXEC_COMMANDS_PLACEDBUFFERS_H

#include "passes/exec/commands/Liveness.h"
#include <vector>

namespace dtcc::exec {

class PlacedBuffers {
public:
  /// The start of the smallest gap that holds `bytes`, the first of several; else the end of all buffers that live at
  /// the same time.
  int64_t findOffset(const Lifetime &lifetime, int64_t bytes) const;
  /// `lifetime` must outlive this.
  void insert(const Lifetime &lifetime, int64_t offset, int64_t bytes);

private:
  struct Placed {
    const Lifetime *lifetime;
    int64_t offset, end;
  };
  struct Run {
    /// At least one, sorted by offset.
    std::vector<Placed> buffers;
    /// `all` begins with the first lifetime and ends with the last. `shared` goes from the latest begin to the earliest
    /// end; it is empty if a lifetime has several parts.
    Interval all, shared;
    int64_t end = 0, largestGap = 0;
    void summarize();
  };
  std::vector<Run> runs;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_PLACEDBUFFERS_H
