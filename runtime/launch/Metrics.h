//===- Metrics.h - What a run reports ------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The metrics file (JSON lines, for programs) and the progress lines (for people).
// Rank 0 writes both.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_METRICS_H
#define DTCC_RUNTIME_LAUNCH_METRICS_H

#include "runtime/image/Image.h"

#include <fstream>
#include <string>
#include <vector>

namespace dtcc::rt {

/// Facts of the run on which the ranks agreed before the first step.
struct RunFacts {
  int64_t steps = 0;
  int64_t firstStep = 1;
  int threads = 1;
  std::string transport; /* launcher, or "threads" */
  uint64_t seed = 0;
  std::vector<uint64_t> bytes; /* of each rank: arenas and staging */
};

struct StepFacts {
  int64_t step = 0;
  double loss = 0;
  double gradNorm = 0;
  bool hasGradNorm = false;
  /// With a dynamic loss scale: the scale that this step used, and the number of steps so far without an update.
  bool hasLossScale = false;
  double lossScale = 0;
  int64_t skipped = 0;
  double lr = 0;
  double seconds = 0;
};

class Metrics {
public:
  /// `path` may be empty: progress lines only. Throws Status::Write.
  Metrics(const Image &image, const std::string &path, bool append);

  void start(const RunFacts &facts);
  void step(const StepFacts &facts);
  void end(int64_t steps, bool interrupted);

private:
  void write(const std::string &line);

  const Image &image;
  std::string path;
  std::ofstream file;
  RunFacts run;
  double flops = 0;        /* of one step on all ranks */
  double totalSeconds = 0; /* of the steps so far, without the first */
  bool warned = false;
};

/// Floating-point operations of one step on one rank.
double stepFlops(const Image &image);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_METRICS_H
