//===- MemoryTable.h - What a device holds, stage by stage of ZeRO
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers whether a model fits, under which ZeRO stage and recomputation, and on how few
// devices. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_TRANSFORMER_MEMORYTABLE_H
#define DTCC_PLANNER_TRANSFORMER_MEMORYTABLE_H

#include "planner/transformer/TransformerReport.h"

namespace dtcc::plan {

struct MemoryRow {
  int zero = 0;
  Recompute recompute = Recompute::None;
  /// Memory of the device that needs most.
  MemoryParts memory;
  bool fits = false;
};

/// A row for every stage of ZeRO that has ranks to share over and every kind of recomputation
/// that saves anything, by the closed formulas of planner/transformer/Memory.h; the axes and micro-batches are those of
/// `shape`.
std::vector<MemoryRow> tabulateMemory(const TransformerProblem &problem, const Parallelism &shape);

/// The fewest devices on which some plan fits, with the fastest one for a sample a device:
/// powers of two in a node, whole nodes beyond. What `given` holds of the axes
/// of `problem` holds there too. Nothing if `most` devices do not hold it.
struct FewestDevices {
  int64_t devices = 1;
  PlanReport plan;
};
std::optional<FewestDevices> fewestDevices(TransformerProblem problem, const ShapeSpace &given,
                                           int64_t most = int64_t(1) << 16);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_TRANSFORMER_MEMORYTABLE_H
