//===- MeasuredRun.h - A training run that somebody measured
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a RunTable as model, machine and plan, with what it leaves unsaid filled in by
// the defaults of its software; the step that the model prices is made from it. Nothing in
// here depends on which source a row is from, but for the words that name its software.
// Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_VALIDATION_MEASUREDRUN_H
#define DTCC_PLANNER_VALIDATION_MEASUREDRUN_H

#include "planner/cost/Step.h"
#include "planner/transformer/Memory.h"
#include "planner/transformer/Transformer.h"
#include "planner/validation/RunTable.h"

namespace dtcc::cost {

struct MeasuredRun {
  std::string id;
  /// The prefix of the id: "titan" of "titan-007".
  std::string source;
  /// Reason why the model does not price the run; empty if it does.
  std::string scope;
  /// Reason why the run is counted separately; empty for other runs. Such a run is priced, and has no part in fits and
  /// in the figures of other runs.
  std::string apart;
  Device device;
  Fabric fabric;
  Software software;
  Transformer model;
  Parallelism plan;
  RunSetting setting;
  double globalBatch = 0;
  /// 0: not stated.
  double seconds = 0, memoryGib = 0;
  /// The source says that it did not fit.
  bool outOfMemory = false;
  /// The row says what is recomputed; else the default of the software is taken.
  bool statesRecompute = false;

  StepProblem problem() const;
  MemoryBytes memory() const;
  /// Whether it fits: with full recomputation where the row does not say what there is.
  bool fits() const;
};

/// Reads row `row`. Cells that are no numbers where numbers belong are an error, named by
/// place, column and value; what is missing or beyond the model is in `scope`.
std::optional<MeasuredRun> readRun(const RunTable &table, size_t row, std::string &error);

/// Bytes a second and device that the words of an interconnect state, "8x HDR InfiniBand 200
/// Gb/s per node"; 0 if they state none.
double statedNetwork(std::string_view words, double devicesPerNode);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_VALIDATION_MEASUREDRUN_H
