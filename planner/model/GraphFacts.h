//===- GraphFacts.h - What a search knows of a step and of its devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything else in this folder reads these facts and changes none of them. A cluster of several kinds of devices has
// one GraphFacts a kind.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_GRAPHFACTS_H
#define DTCC_PLANNER_MODEL_GRAPHFACTS_H

#include "planner/cluster/Machine.h"
#include "planner/cost/Step.h"
#include "planner/placement/PlaceExperts.h"
#include "planner/placement/SequencePlacement.h"
#include "planner/search/ShapeSearch.h"
#include "planner/step/StepValues.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::spmd {

/// The parts of a plan that a user holds, beside the sizes of a ShapeSpace.
struct GraphRequest {
  /// Absent: each block of the model keeps or computes again as memory allows.
  std::optional<plan::Recompute> recompute;
  /// Absent: zig-zag for rings under a causal mask, where it is possible.
  std::optional<plan::SequenceOrder> order;
  ExpertExchange experts = ExpertExchange::Cheaper;
  /// Layouts of single values, to which every placement keeps.
  Pins pins;
  /// A placement that is given whole. No placement is then solved, whatever else is asked.
  std::shared_ptr<const GivenPlacement> given;
  /// The user asked for ranks of tp: the model is shared out even where that is slower.
  bool share = false;
  /// Groups of data-parallel ranks that share state among themselves.
  int64_t groups = 1;
  /// The actions of a schedule file, which replace the schedule that a shape names.
  plan::Schedule actions;
  /// Stages of such actions.
  int64_t stages = 0;
  /// Stages that are asked for. If the model's usual row of blocks is shorter, it is cut finer.
  size_t fewestBlocks = 0;
  /// The stages to which nodes of the model are held, by the names of nodes. If empty, stages are cut anywhere.
  llvm::StringMap<int64_t> nodeStages;
  /// Bytes of a rank are no limit.
  bool anyMemory = false;
  /// Activations of a block may wait with the host, where that has memory of its own (planner/plan/Offload.h).
  bool mayOffloadActivations = false;
  /// Then all that blocks keep does, whatever they compute again.
  bool mustOffloadActivations = false;
};

/// The knowledge about a training step and one kind of devices that a search has before it places anything. Immutable.
struct GraphFacts {
  /// `machine`: a rank among those of its kind. `ranks`: of all kinds together. The step must not change while this
  /// lives.
  GraphFacts(mlir::func::FuncOp step, const cost::Machine &machine, int64_t ranks, bool isMixed,
             const GraphRequest &request);

  /// Modes of recomputation that blocks may have.
  std::vector<plan::Recompute> modes() const;
  /// Ways to keep the values of a block: modes(), with the host if they must be there; and where they may, one more.
  size_t modeCount() const { return modes().size() + (offloads() && !mustOffload() ? 1 : 0); }
  bool offloads() const;
  bool mustOffload() const { return request.mustOffloadActivations && offloads(); }
  bool isOnHost(uint32_t mode) const { return mustOffload() || mode >= modes().size(); }
  plan::Recompute recomputeOf(uint32_t mode) const { return modes()[mode >= modes().size() ? 0 : mode]; }
  /// The mode by which blocks of a type are priced: of a plan that is given they lie where it says.
  uint32_t pricedMode(uint32_t type, uint32_t mode) const {
    if (!request.given)
      return mode;
    return givenOnHost[type] ? uint32_t(modeCount() - 1) : isOnHost(mode) ? 0 : mode;
  }
  int64_t stagesOf(const plan::PlanShape &shape) const;
  bool hasVirtualStages(const plan::PlanShape &shape) const { return stagesOf(shape) != shape.pp; }
  /// Samples of a rank in a micro-batch.
  int64_t localExamples(const plan::PlanShape &shape) const;
  /// An empty plan with the mesh of a rank that has so many samples.
  plan::Plan meshFor(const plan::PlanShape &shape, int64_t local) const;
  /// Bytes of the communicators that parameters may have for themselves.
  double separateBytes(const plan::PlanShape &shape) const;
  /// Bytes that a plan may use of a device; 0: not known. `separate`: of the communicators that parameters have for
  /// themselves, if the program is known; else those that they may have.
  double usableBytes(const plan::PlanShape &shape, double separate) const;
  double usableBytes(const plan::PlanShape &shape) const { return usableBytes(shape, separateBytes(shape)); }

  mlir::func::FuncOp step;
  GraphRequest request;
  PlacementInput input;
  StepValues values;
  /// A device of this kind, as a rank among those of all kinds.
  cost::Machine machine;
  /// Devices of this kind.
  int64_t own = 0;
  bool isMixed = false;
  /// The habits of this compiler's programs, as the cost model describes software.
  cost::Software software;
  /// The first dimension of the inputs; tensors that the optimizer keeps for a parameter.
  int64_t examples = 1, slots = 0;
  /// Whether the step has batch norms: statistics of a batch, or what moves by them, go over all copies.
  bool statistics = false;
  /// The first block of each stage as nodes of the model are held to them; empty if they are not.
  std::vector<uint32_t> begins;
  /// Whether a given plan keeps the saved values of a type of blocks on the host.
  std::vector<bool> givenOnHost;

private:
  void findGivenOnHost();
};

/// Are weight gradients made behind input gradients?
inline bool hasWeightsApart(const plan::PlanShape &shape) {
  return shape.pp > 1 && cost::has(shape.schedule, cost::ScheduleRow::WeightsApart);
}
/// Has a program of the shape a prologue, where parameters are brought to their readers' layouts?
inline bool bringsAtOnce(const plan::PlanShape &shape) { return shape.pp > 1 || shape.microbatches > 1; }

/// Says why a batch cannot be split so; returns failure.
mlir::LogicalResult refuseBatch(mlir::func::FuncOp step, int64_t batch, int64_t dp, int64_t ep, int64_t microbatches);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_GRAPHFACTS_H
