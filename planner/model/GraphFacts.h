//===- GraphFacts.h - Facts of a step and of its devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other files of this folder read these facts and change none. A cluster of heterogeneous devices has one
// GraphFacts for each device kind.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_GRAPHFACTS_H
#define DTCC_PLANNER_MODEL_GRAPHFACTS_H

#include "dialects/graph/Graph.h"
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
  /// Room for rows of experts on a rank, in means of what ranks receive; 0: for all.
  double capacity = 0;
  /// Layouts of single values, to which every placement keeps.
  Pins pins;
  /// A placement that is given whole. No placement is then solved, whatever else is asked.
  std::shared_ptr<const GivenPlacement> given;
  /// Whether the user asked for ranks of tp, so that the model is split even if that is slower.
  bool share = false;
  /// The actions of a schedule file, which replace the schedule that a shape names.
  plan::Schedule actions;
  /// Stages of such actions.
  int64_t stages = 0;
  /// Stages that are asked for. If the model's usual row of blocks is shorter, it is cut finer.
  size_t fewestBlocks = 0;
  /// The stages to which nodes of the model are held, by the names of nodes. If empty, stages are cut anywhere.
  llvm::StringMap<int64_t> nodeStages;
  /// Whether the memory of a rank is unlimited.
  bool anyMemory = false;
  /// Whether saved activations of a block may be offloaded, if host memory is separate (planner/parallelism/Offload.h).
  bool mayOffloadActivations = false;
  /// Whether all saved activations must then be offloaded, under any recomputation.
  bool mustOffloadActivations = false;
};

/// The knowledge about a training step that is the same for all devices and all requests with the same pins.
struct StepTables {
  StepTables(mlir::func::FuncOp step, const GraphRequest &request);

  PlacementInput input;
  StepValues values;
};

/// The knowledge about a training step and one kind of devices that a search has before it places anything. Immutable.
struct GraphFacts {
  /// `machine` describes a rank among those of its kind. `ranks` counts the ranks of all kinds. The step must not
  /// change during the life of the facts. `tables`: those of other facts of the step, for a request with the same pins,
  /// given plan and fewest blocks; null: made anew.
  GraphFacts(mlir::func::FuncOp step, const cost::Machine &machine, int64_t ranks, bool isMixed,
             const GraphRequest &request, std::shared_ptr<const StepTables> tables = nullptr);

  /// Modes of recomputation that blocks may have.
  llvm::ArrayRef<plan::Recompute> modes() const;
  /// Number of modes of a block: those of modes(), which offload if they must, and one more if offloading is optional.
  size_t modeCount() const { return modes().size() + (offloads() && !mustOffload() ? 1 : 0); }
  bool offloads() const;
  bool mustOffload() const { return request.mustOffloadActivations && offloads(); }
  bool isOnHost(uint32_t mode) const { return mustOffload() || mode >= modes().size(); }
  plan::Recompute recomputeOf(uint32_t mode) const { return modes()[mode >= modes().size() ? 0 : mode]; }
  /// The mode by which blocks of a type are priced. A given plan decides whether they offload.
  uint32_t pricedMode(uint32_t type, uint32_t mode) const {
    if (!request.given)
      return mode;
    return givenOnHost[type] ? uint32_t(modeCount() - 1) : isOnHost(mode) ? 0 : mode;
  }
  int64_t stagesOf(const plan::Parallelism &shape) const;
  bool hasVirtualStages(const plan::Parallelism &shape) const { return stagesOf(shape) != shape.pp; }
  /// Samples of a rank in a micro-batch.
  int64_t localSamples(const plan::Parallelism &shape) const;
  /// An empty plan with the mesh of a rank that has so many samples.
  plan::Plan meshFor(const plan::Parallelism &shape, int64_t local) const;
  /// Bytes of the communicators that may serve parameters alone.
  double separateBytes(const plan::Parallelism &shape) const;
  /// Bytes of a device that a plan may use; 0 if not known. `separate` is the memory of the communicators that serve
  /// parameters alone: that of the program if it is known, else separateBytes().
  double usableBytes(const plan::Parallelism &shape, double separate) const;
  double usableBytes(const plan::Parallelism &shape) const { return usableBytes(shape, separateBytes(shape)); }

  /// A step of a device of this kind, without its layers and what a shape says.
  cost::StepProblem emptyStep() const { return {machine.device, machine.fabric, {}, software, {}, {}, {}}; }

  mlir::func::FuncOp step;
  GraphRequest request;
  std::shared_ptr<const StepTables> tables;
  /// The facts that `tables` holds.
  const PlacementInput &input;
  const StepValues &values;
  /// A device of this kind, as a rank among those of all kinds.
  cost::Machine machine;
  /// Number of devices of this kind.
  int64_t own = 0;
  bool isMixed = false;
  /// The habits of this compiler's programs, as the cost model describes software.
  cost::Software software;
  /// The first dimension of the inputs.
  int64_t samples = 1;
  /// Values of f32 that the optimizer keeps for a cell of a parameter; state of 8 bits counts for its bytes.
  double slots = 0;
  /// Matrices that the optimizer orthogonalizes, of a block of each type. Blocks that are alike each have the mean.
  std::vector<cost::OrthogonalMatrices> matrices;
  /// Whether parameters change once their own gradients are complete, if one run of a phase completes them.
  bool updatesEarly = false;
  /// Whether the step has batch norms, whose statistics are communicated over all data-parallel ranks.
  bool statistics = false;
  /// The first block of each stage that annotations fix; empty if there are none.
  std::vector<uint32_t> begins;
  /// Whether a given plan keeps the saved values of a type of blocks on the host.
  std::vector<bool> givenOnHost;

private:
  void findMatrices(graph::UpdateOp update);
  void findGivenOnHost();
};

/// Whether weight gradients run apart from input gradients.
inline bool hasWeightsApart(const plan::Parallelism &shape) {
  return shape.pp > 1 && cost::has(shape.schedule, cost::ScheduleRow::WeightsApart);
}
/// Whether a program of the shape has a prologue, in which parameters are resharded to the layouts of their readers.
inline bool bringsAtOnce(const plan::Parallelism &shape) { return shape.pp > 1 || shape.microbatches > 1; }

/// Emits the reason why a batch cannot be split in this way, and returns failure.
mlir::LogicalResult refuseBatch(mlir::func::FuncOp step, int64_t batch, int64_t dp, int64_t ep, int64_t microbatches);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_GRAPHFACTS_H
