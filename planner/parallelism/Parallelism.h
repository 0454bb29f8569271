//===- Parallelism.h - How the training of a model is parallelised
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One value for searches, prices, options and plans: the degree of each kind of parallelism, how the batch is cut, the
// schedule, and what ranks share, recompute and offload. It says nothing of single ops: where their dimensions are
// split, plan::Plan says, which has a mesh of this value (makeDefaultPlan, parallelismOf).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_PARALLELISM_H
#define DTCC_PLANNER_PARALLELISM_PARALLELISM_H

#include "planner/parallelism/Group.h"
#include "planner/parallelism/MeshSizes.h"
#include "planner/parallelism/Offload.h"
#include "planner/parallelism/Recompute.h"
#include "planner/parallelism/Schedules.h"
#include "planner/parallelism/SequenceExchange.h"
#include "planner/parallelism/StateTable.h"
#include <string>

namespace dtcc::plan {

/// Ranks are numbered with tp innermost, then cp, dp, and pp outermost. All numbers are at least 1 unless they say
/// otherwise.
struct Parallelism {
  /// Ranks of data, tensor, context, expert and pipeline parallelism. Expert parallelism uses ranks of dp (and of cp
  /// and tp if they are folded) over again: neighbouring ranks hold different experts.
  int64_t dp = 1, tp = 1, cp = 1, ep = 1, pp = 1;
  /// Groups of data-parallel ranks among which state is shared; the groups hold copies (hybrid sharding).
  int64_t groups = 1;
  /// Micro-batches that are accumulated in a step, of batch / (dp * microbatches) samples each.
  int64_t microbatches = 1;
  /// ZeRO stage, 0 to 3.
  int zero = 0;
  cost::PipelineKind schedule = cost::PipelineKind::None;
  /// Stages of a rank under an interleaved schedule.
  int64_t virtualStages = 1;
  Recompute recompute = Recompute::None;
  Offload offload = {};
  GradientType gradients = GradientType::F32;
  /// Whether ranks of tp share out the positions between the ops that they split.
  bool sequenceParallel = false;
  /// Whether parts of weights stay on the ranks of tp that hold them (the weight-stationary layout of Pope et al. 2022,
  /// arXiv 2211.05102). Otherwise ranks that share out positions may gather them once a step, and keep them, where this
  /// moves fewer bytes.
  bool stationaryWeights = false;
  /// How attention sees the positions that cp splits.
  SequenceExchange exchange = SequenceExchange::Cheaper;

  int64_t ranks() const { return dp * tp * cp * pp; }
  /// Whether experts are spread over ranks of dp, cp and tp together, as Megatron can fold them.
  bool foldsExperts() const { return dp % ep != 0; }
  /// Size of dp in a mesh whose axes multiply to its ranks: dp / ep, or dp if experts are folded.
  int64_t meshDp() const { return foldsExperts() ? dp : dp / ep; }
  /// The sizes of all axes.
  MeshSizes meshSizes() const;
  /// Sets the degrees that `sizes` gives, and leaves the others.
  void setDegrees(const MeshSizes &sizes);

  cost::Group tensorGroup() const { return {tp, 1}; }
  cost::Group contextGroup() const { return {cp, tp}; }
  /// Ranks that hold the same parameters: those of data and of context parallelism.
  cost::Group dataGroup() const { return {cp * dp, tp}; }
  /// Ranks of the data group over which ZeRO shards state.
  cost::Group shareGroup() const;
  int64_t stageStride() const { return tp * cp * dp; }
  /// Whether ranks of tp hold columns of each expert. If cp and dp are too few for ep, they hold whole experts.
  bool splitsExperts() const { return (cp * dp) % ep == 0; }
  cost::Group expertGroup() const { return {ep, splitsExperts() ? tp : 1}; }
  /// The parallelism of the parameters of experts: replicas and ZeRO use the ranks of dp and cp divided by ep.
  Parallelism ofExperts() const;

  /// "dp=2x4,tp=4": the axes as --mesh takes them, without those of one rank.
  std::string meshText() const;
  /// "dp=2x4,tp=4,ep=2,pp=8 sequence-parallel stationary-weights cp-attention=ring zero=1 microbatches=16 interleaved:2
  /// recompute=full offload=optimizer gradients=bf16": as options are written, without what is as in a value of one
  /// rank but ZeRO and micro-batches.
  std::string str() const;
  /// "1f1b", "interleaved:2", "zero-bubble"; empty without stages.
  std::string scheduleName() const { return cost::scheduleName(schedule, virtualStages); }
  bool operator==(const Parallelism &) const = default;
};

/// Reads the text of Parallelism::str(). What is not said is as in a value of one rank; stages without a schedule run
/// by 1F1B. Nothing, and `error` says why, for other text.
std::optional<Parallelism> parseParallelism(std::string_view text, std::string &error);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PARALLELISM_PARALLELISM_H
