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
#include "runtime/launch/health/GradNorms.h"
#include "runtime/launch/health/Stragglers.h"

#include <fstream>
#include <limits>
#include <optional>
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
  double lossCount = 1; /* by which the sum was divided */
  double gradNorm = 0;
  bool hasGradNorm = false;
  bool updatesEarly = false;                                    /* before the norm was known */
  GradNorms::Named gradNorms;                                   /* empty: the step was not asked for them */
  float gradNormLimit = std::numeric_limits<float>::infinity(); /* above which the step updates nothing */
  /// With a dynamic loss scale: the scale that this step used.
  bool hasLossScale = false;
  double lossScale = 0;
  int64_t skipped = 0;     /* steps so far without an update */
  int64_t droppedRows = 0; /* of experts, on all ranks */
  double lr = 0;
  double seconds = 0;
  double dataSeconds = 0; /* of them, until the samples were copied */
  /// Seconds that each rank spent on its own: neither waiting for others nor exchanging data. Empty where not known.
  std::vector<double> rankSeconds;
};

/// An evaluation behind a step.
struct EvaluationFacts {
  int64_t step = 0;
  double loss = 0;
  double lossCount = 0; /* by which the sum was divided */
  /// Share of the counted labels that name the largest logit, if the program counts them.
  std::optional<double> accuracy;
  int64_t batches = 0;
  int64_t droppedRows = 0; /* of experts, on all ranks */
  double seconds = 0;
  bool isBest = false;  /* the smallest loss so far */
  bool isAlone = false; /* nothing is trained */
};

class Metrics {
public:
  /// `path` may be empty: progress lines only. With `resumedFrom`, what the file says of later steps is removed,
  /// because these are run again; without, all of it. Throws Status::Write.
  Metrics(const Image &image, const std::string &path, std::optional<int64_t> resumedFrom);

  /// Throws Status::Write.
  void start(const RunFacts &facts);
  void step(const StepFacts &facts);
  void evaluation(const EvaluationFacts &facts);
  /// A rank of `host` has become slow by `step`: says so.
  void straggler(int64_t step, const Straggler &slow, const std::string &host);
  /// The run goes back from step `from` to step `to`: the rows between are removed.
  void rollBack(int64_t from, int64_t to);
  void end(int64_t steps, bool interrupted);
  /// First fault of the file since the start, on a full disk for example; empty: nothing. The rest of the metrics
  /// is lost then, the run is not.
  const std::string &failure() const { return failed; }

private:
  void write(const std::string &line);

  const Image &image;
  std::string path;
  std::ofstream file;
  RunFacts run;
  double flops = 0;        /* of one step on all ranks */
  double totalSeconds = 0; /* of the steps so far, without the first */
  std::string failed;
};

/// Floating-point operations of one step on one rank.
double stepFlops(const Image &image);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_METRICS_H
