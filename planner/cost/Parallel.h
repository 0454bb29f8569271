//===- Parallel.h - Degrees of a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a plan that a step forecast depends on: degrees of parallelism. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_PARALLEL_H
#define DTCC_PLANNER_COST_PARALLEL_H

#include "planner/cost/Schedules.h"
#include "planner/cost/Software.h"

namespace dtcc::cost {

/// Ranks are numbered with tp innermost, then cp, dp, and pp outermost.
struct Parallel {
  int64_t tp = 1, cp = 1, dp = 1, pp = 1, virtualStages = 1;
  /// Degree of expert parallelism: neighbouring ranks of cp and dp that hold different experts.
  int64_t ep = 1;
  int64_t microbatches = 1;
  PipelineKind schedule = PipelineKind::None;
  int zero = 0;
  /// Data-parallel ranks that share state under ZeRO; the others have copies. 0: all.
  int64_t shareGroup = 0;
  bool sequenceParallel = false;
  Recomputation recompute = Recomputation::None;
  /// Whether optimizer state is in host memory, where the device updates it.
  bool hostOptimizer = false;

  int64_t ranks() const { return tp * cp * dp * pp; }
  Group tensorGroup() const { return {tp, 1}; }
  Group contextGroup() const { return {cp, tp}; }
  /// Ranks that hold the same parameters: those of data and of context parallelism.
  Group dataGroup() const { return {cp * dp, tp}; }
  /// Ranks of the data group over which ZeRO shards state.
  Group shareGroupOf() const { return {shareGroup > 0 ? shareGroup : cp * dp, tp}; }
  int64_t stageStride() const { return tp * cp * dp; }
  /// Whether ranks of tp hold columns of each expert. If cp and dp are too few for ep, they hold whole experts.
  bool splitsExperts() const { return (cp * dp) % ep == 0; }
  Group expertGroup() const { return {ep, splitsExperts() ? tp : 1}; }
  /// The parallelism of the parameters of experts: replicas and ZeRO use the ranks of dp and cp divided by ep.
  Parallel ofExperts() const;
};

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_PARALLEL_H
