//===- Plan.h - Where a training step runs, as a plain value
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is the decision of a search, which `spmd-apply-plan` carries out: a mesh, the axes
// of the factors of forward ops, the layouts of states. Free of MLIR, so that plans can be
// made, compared and timed without IR. Its file format is docs/plan-format.md.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLAN_PLAN_H
#define DTCC_PLANNER_PLAN_PLAN_H

#include "dialects/spmd/Layout.h"
#include "planner/parallelism/Parallelism.h"
#include "planner/schedule/Schedule.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>

namespace dtcc::plan {

using spmd::Axes;
using spmd::Mesh;

/// The placement of one forward op, which its backward ops inherit.
struct OpPlan {
  /// The number of the forward op (dialects/graph/Origin.h).
  int64_t origin = 0;
  /// The op's name, "graph.contract", by which a plan for another graph is noticed.
  std::string op;
  /// Axes by the index of the factor in the op's factor map, outermost first.
  std::map<int64_t, Axes> factors;
  /// Axes over which the operands of the op's first linear set arrive as partial sums that flow through to its
  /// results, and no others but those over samples. Absent: as costs nothing (passes/spmd/layout/ApplyPlan.cpp).
  std::optional<Axes> partial;
  /// Whether the results of the op are recomputed (true) or kept (false). Overrides the mode of the plan.
  std::optional<bool> recompute;
  /// For an attention whose queries are split by position: whether keys and values are split likewise and pass around
  /// the ring of these ranks (passes/spmd/layout/RingAttention.h) instead of being gathered.
  bool ring = false;
  /// For an expert layer: whether tokens are sent only to the ranks that hold their experts (true), or to the whole
  /// group.
  std::optional<bool> dispatch = std::nullopt;
  /// For an expert layer whose tokens are sent: a rank has room for this many times the mean number of rows that a rank
  /// receives. Absent: for all that may come.
  std::optional<double> capacity = std::nullopt;
  /// Whether the results of the op are offloaded to host memory until the backward pass.
  bool onHost = false;
  bool operator==(const OpPlan &) const = default;
};

/// Order of the positions of a sequence over the ranks of the sequence axes.
enum class SequenceOrder {
  /// Each rank holds consecutive positions.
  Contiguous,
  /// The sequence has twice as many chunks as ranks, and each rank holds an early and a late one: equal work under
  /// a causal mask (runtime/abi/SequenceOrder.h).
  ZigZag,
};

/// The placement of one state. What is absent follows from the ops that read it.
struct StatePlan {
  std::string name;
  std::optional<std::vector<Axes>> layout;
  std::optional<int64_t> zero;
  bool operator==(const StatePlan &) const = default;
};

/// The cut of a step into the stages of a pipeline.
struct PipelinePlan {
  /// The rank axis whose coordinate is a rank's place in the pipeline.
  std::string axis;
  /// A name that makeSchedule knows; empty: `actions` say it.
  std::string schedule;
  Schedule actions;
  /// The origins at which stages 1, 2, .. begin, ascending: a stage is a run of forward
  /// ops in the order of the step. Backward ops go with their forward op.
  std::vector<int64_t> cuts;
  /// Device kind of the stages of each rank of the axis, if devices are heterogeneous: {"h100-sxm", "a100-80"}.
  std::vector<std::string> devices = {};

  int64_t stages() const { return static_cast<int64_t>(cuts.size()) + 1; }
  /// The stage of the ops of `origin`.
  int64_t stageOf(int64_t origin) const;
  /// The schedule, made and checked for the mesh.
  llvm::Expected<Schedule> scheduleOn(const Mesh &mesh) const;
  bool operator==(const PipelinePlan &) const = default;
};

struct Plan {
  static constexpr int64_t kVersion = 1;
  /// Axes of size 1 may stand here; layouts never name them.
  Mesh mesh;
  /// The axes that split the samples of a step, outermost first: {"mb", "dp"}.
  Axes batchAxes;
  /// The axes that split positions (context parallelism), outermost first: {"cp"}. What is
  /// connected with dimension 1 of token and label inputs is split over them wherever an op
  /// can, unless the op is given them elsewhere.
  Axes sequenceAxes;
  SequenceOrder sequenceOrder = SequenceOrder::Contiguous;
  /// Activations between the ops that other axes (tp) split lie split by positions over these too.
  bool sequenceParallel = false;
  /// No placement that is solved for the plan gathers parts of weights from other ranks of an axis that split them
  /// (tp), unless an op allows nothing else.
  bool stationaryWeights = false;
  /// ZeRO stage over `flatAxes`: 0 shards nothing, 1 the update and optimizer state, 2 gradients too, 3 parameters too
  /// (planner/parallelism/StateTable.h).
  int64_t zero = 0;
  Axes flatAxes;
  Recompute recompute = Recompute::None;
  /// State and activations in host memory. Activations are offloaded only for ops that say so.
  Offload offload;
  /// Type in which gradients are kept and reduced.
  GradientType gradients = GradientType::F32;
  std::vector<OpPlan> ops;
  std::vector<StatePlan> states;
  std::optional<PipelinePlan> pipeline;

  /// The placement of the forward op `origin`, or null.
  const OpPlan *findOp(int64_t origin) const;
  /// Axes that an entry gives a factor, without those of size 1; none if there is no entry.
  Axes axesOf(const OpPlan *entry, int64_t factor) const;
  const StatePlan *findState(llvm::StringRef name) const;
  /// `axes` without those of size 1.
  Axes withoutUnitAxes(const Axes &axes) const;
  /// The schedule of the pipeline, made and checked for the mesh.
  llvm::Expected<Schedule> schedule() const { return pipeline->scheduleOn(mesh); }
  /// Axes exist, sizes and stages are in range, the schedule of a pipeline ends.
  llvm::Error check() const;
  /// Writes the format of docs/plan-format.md. `indent` 0 gives one line.
  std::string toJson(unsigned indent = 2) const;
  /// Reason why no program can be compiled for the plan: empty, or "its stages are on devices of several kinds, ..".
  std::string whyNoProgram() const;
  bool operator==(const Plan &) const = default;

private:
  llvm::Error checkPipeline() const;
};

/// The plan of `parallelism` that places no op: its mesh, with the axes mb, pp, dp, ep, cp and tp in this order, and
/// what samples, positions and state are split over. The ranks of tp compute the same as long as no op is given their
/// axis. With groups, the axis dp is two: dp.0 over the groups, dp.1 inside of them. A pipeline has a schedule and no
/// cuts yet. Experts that are folded have no axis.
Plan makeDefaultPlan(const Parallelism &parallelism);

/// The sizes of the axes of a mesh that have the names of makeDefaultPlan; axes that it lacks are absent.
MeshSizes meshSizesOf(const Mesh &mesh);
/// The parallelism of a plan whose axes have the names of makeDefaultPlan; axes with other names count as one rank.
/// Actions that a plan lists itself count as 1F1B. How attention exchanges positions is not asked: the ops say it.
Parallelism parallelismOf(const Plan &plan);

/// Reads a plan. `file` is named in the message of an error, with line and column or
/// the place in the document.
llvm::Expected<Plan> parsePlan(llvm::StringRef text, llvm::StringRef file);
llvm::Expected<Plan> readPlan(llvm::StringRef path);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PLAN_PLAN_H
