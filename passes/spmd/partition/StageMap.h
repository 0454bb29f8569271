//===- StageMap.h - Phases of the stages of a pipeline, and what passes between them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_PARTITION_STAGEMAP_H
#define DTCC_PASSES_SPMD_PARTITION_STAGEMAP_H

#include "dialects/interfaces/PhaseRun.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "planner/schedule/Schedule.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace dtcc::spmd {

/// Place of an op: a rank of the pipeline axis, and the index of a phase of its program.
struct PhasePlace {
  int64_t rank = 0;
  int64_t phase = 0;
  auto operator<=>(const PhasePlace &) const = default;
};

/// A phase of a rank: its prologue, which computes for no stage; a kind of work of a stage; or the evaluation of one.
struct StagePhase {
  std::string name;
  std::optional<int64_t> stage;
  /// Nothing for the prologue and the evaluation.
  std::optional<plan::Work> work;
  bool isEvaluation() const { return stage && !work; }
};

/// Values that one phase makes and another rank's phase reads first.
struct StageEdge {
  PhasePlace from, to;
  /// Differs from that of other edges between the same ranks.
  int64_t channel = 0;
  llvm::SmallVector<mlir::Value> values;
};

/// From a step whose ops carry their stage to the phases of each rank's program.
class StageMap {
public:
  StageMap(mlir::func::FuncOp step, const plan::Schedule &schedule, const Mesh &mesh, std::string axis);

  /// A rank's phases: "prologue" first, then forward phases, then backward ones, then those of an evaluation,
  /// if the step has one, so that a phase reads what phases before it made of the same micro-batch.
  llvm::ArrayRef<StagePhase> phasesOf(int64_t rank) const { return phases[rank]; }
  /// Nothing for the update and the return.
  std::optional<PhasePlace> placeOf(mlir::Operation *op) const;
  llvm::ArrayRef<StageEdge> edges() const { return allEdges; }
  /// The index of a rank's first phase of an evaluation; the number of its phases if there is none.
  int64_t firstEvaluationOf(int64_t rank) const;
  /// The actions of a rank, from the prologue to the update, then those of an evaluation: forward passes in the order
  /// of the step's, and the score. Phases that nothing is computed in may be among them.
  llvm::SmallVector<PhaseRun> runsOf(mlir::MLIRContext *context, int64_t rank) const;
  /// The ranks, ascending, whose stages read or update `state`.
  llvm::ArrayRef<int64_t> ownersOf(llvm::StringRef state) const;
  int64_t ranks() const { return static_cast<int64_t>(schedule.ranks.size()); }
  const std::string &axis() const { return axisName; }

private:
  void placeOps(mlir::func::FuncOp step, const Mesh &mesh);
  void addOwner(mlir::Operation &op, int64_t rank);
  void findEdges(mlir::func::FuncOp step);
  /// A phase of a rank that runs for each micro-batch before the others of `among`, or the first of them.
  int64_t firstOf(int64_t rank, const std::set<int64_t> &among) const;
  /// The index of the phase for `work` of a stage, or for its evaluation, among the phases of its rank.
  int64_t phaseOf(int64_t stage, std::optional<plan::Work> work) const;
  int64_t evaluationOf(int64_t stage) const { return phaseOf(stage, std::nullopt); }
  std::string phaseName(int64_t stage, plan::Work work) const;
  /// `name`, followed by the number of the stage if its rank has several.
  std::string nameIn(int64_t stage, llvm::StringRef name) const;

  /// Facts of the schedule about a stage, looked up for every op.
  struct StageRow {
    int64_t rank = 0;
    bool splits = false; /* gradients of inputs and of weights are apart */
  };

  plan::Schedule schedule;
  llvm::SmallVector<StageRow> stageRows;
  std::string axisName;
  std::vector<std::vector<StagePhase>> phases;
  llvm::DenseMap<mlir::Operation *, PhasePlace> places;
  /// Backward ops that run in forward phases. Other stages get their results with the others' nevertheless.
  llvm::DenseSet<mlir::Operation *> early;
  std::vector<StageEdge> allEdges;
  llvm::StringMap<std::vector<int64_t>> owners;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_STAGEMAP_H
