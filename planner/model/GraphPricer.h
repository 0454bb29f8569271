//===- GraphPricer.h - Shapes of a plan for a graph on a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search over shapes (planner/search/ShapeSearch.h) for a training step as it is in the IR:
// the placement of the step is solved once for each way to split it, its blocks are priced
// by the cost model of planner/cost, and what blocks hold comes from the graph and from the
// compiler's own decision of what is computed again. A solved shape becomes a plan.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_GRAPHPRICER_H
#define DTCC_PLANNER_MODEL_GRAPHPRICER_H

#include "planner/cost/Step.h"
#include "planner/placement/PlaceExperts.h"
#include "planner/placement/SequencePlacement.h"
#include "planner/schedule/StepSimulation.h"
#include "planner/search/SearchReport.h"
#include "planner/step/StepValues.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace dtcc::spmd {

/// What is given of a plan beside the sizes of a ShapeSpace.
struct GraphRequest {
  /// Absent: each block of the model keeps or computes again as memory allows.
  std::optional<plan::Recompute> recompute;
  SequenceExchange exchange = SequenceExchange::Cheaper;
  /// Absent: zig-zag for rings under a causal mask, where it is possible.
  std::optional<plan::SequenceOrder> order;
  ExpertExchange experts = ExpertExchange::Cheaper;
  /// What the placements keep to.
  Pins pins;
  /// What is placed already: nothing is solved, whatever else is asked of placements.
  std::shared_ptr<const GivenPlacement> given;
  /// The user asked for ranks of tp: the model is shared out even where that is slower.
  bool share = false;
  /// Groups of data-parallel ranks that share state among themselves.
  int64_t groups = 1;
  /// Of a file, instead of the schedule that a shape names.
  plan::Schedule actions;
  /// Stages of such actions.
  int64_t stages = 0;
  /// By the name of a node of the model the stage that it is held to, of some nodes; empty: stages are cut anywhere.
  llvm::StringMap<int64_t> nodeStages;
  /// Bytes of a rank are no limit.
  bool anyMemory = false;
  /// Activations of a block may wait with the host, where that has memory of its own (planner/plan/Offload.h).
  bool mayOffloadActivations = false;
  /// Then all that blocks keep does, whatever they compute again.
  bool mustOffloadActivations = false;
};

struct BlockCost;

class GraphPricer : public plan::ShapePricer {
public:
  /// `kinds`: a rank among all ranks of the cluster, or one of each kind of devices among those of its kind: then a
  /// stage lies on one kind. The step must not change while it is priced.
  GraphPricer(mlir::func::FuncOp step, llvm::ArrayRef<cost::Machine> kinds, const GraphRequest &request,
              size_t mostBlocks = 48);
  ~GraphPricer() override;

  /// All that the graph and the ranks allow.
  plan::ShapeSpace space();
  /// Places the step and prices its blocks for all of the shapes. What comes after works on numbers.
  bool prepare(const std::vector<plan::PlanShape> &shapes) override;
  double bound(const plan::PlanShape &shape) override;
  plan::StageProblem problem(const plan::PlanShape &shape) override;
  plan::StageSolution solve(const plan::PlanShape &shape) override;
  /// The same where a rank may hold so much by the estimate of `describe`, communicators apart.
  plan::StageSolution solveWithin(const plan::PlanShape &shape, double bytes);
  double refine(const plan::PlanShape &shape, const plan::StageSolution &solution) override {
    return price(shape, solution).total();
  }
  std::optional<cost::StepTimeline> timeline(const plan::PlanShape &shape, const plan::StageSolution &solution,
                                             bool record = true) override;
  /// The parts of a solved shape's step by the formulas (cost/Step.h); where its simulation ends later, the waits that
  /// these do not know count as bubble, or with one stage as communication of dp.
  cost::StepSeconds price(const plan::PlanShape &shape, const plan::StageSolution &solution);
  plan::PlanReport describe(const plan::ShapePlan &found);
  /// The plan, as docs/plan-format.md has it.
  plan::Plan write(const plan::PlanShape &shape, const plan::StageSolution &solution);

  /// Devices of several kinds?
  bool isMixed() const { return !others.empty(); }
  /// "h100-sxm, a100-80": where the stages of a solved shape lie.
  std::string stagesText(const plan::StageSolution &solution) const;
  /// Of all ranks of the pipeline together.
  plan::StageSolution solveProblem(const plan::PlanShape &shape, plan::StageProblem problem);
  int64_t stagesOf(const plan::PlanShape &shape) const;
  /// The first dimension of the inputs.
  int64_t batch() const { return examples; }
  const StepBlocks &blocks() const { return input.blocks; }
  /// The first block of each stage as nodes are held to them; empty if they are not.
  llvm::ArrayRef<uint32_t> heldStages() const { return begins; }
  /// What the programs of this compiler do by themselves, as the cost model has it.
  const cost::Software &programs() const { return software; }
  /// Bytes that a plan may use of a device; 0: not known. `separate`: of the communicators that parameters have for
  /// themselves, if the program is known; else those that they may have.
  double usableBytes(const plan::PlanShape &shape, double separate) const;
  double usableBytes(const plan::PlanShape &shape) const { return usableBytes(shape, separateBytes(shape)); }
  /// Ways to split the model that were placed; those whose placement is the best that was found, without a proof.
  struct Placements {
    size_t all = 0, unproven = 0;
  };
  Placements placements() const;
  /// What was said of a split that cannot be placed, the first time; it is said once more.
  mlir::LogicalResult emitRefusal();
  bool hasRefusal() const { return refusal != nullptr; }
  /// Are weight gradients made behind input gradients?
  static bool hasWeightsApart(const plan::PlanShape &shape) {
    return shape.pp > 1 && shape.schedule == plan::PipelineSchedule::ZeroBubble;
  }
  /// What waits of a block at a stage of such a schedule. ZB-H1 makes weight gradients a stage's number of
  /// micro-batches behind the input gradients (Qi et al. 2023): stage s of p has p micro-batches of what these read, p
  /// - s of what only input gradients read, and s + 1 of what input gradients leave for them.
  static double heldAtStage(const plan::PlanShape &shape, const BlockCost &block, plan::Recompute mode, int64_t stage);
  /// The last of these, which no host takes.
  static double leftAtStage(const plan::PlanShape &shape, const BlockCost &block, plan::Recompute mode, int64_t stage);

private:
  /// What is found once (KnownPrices.h): a step placed for one way to split it; its blocks, for so many examples.
  struct Known;
  struct Placed;
  struct Local;

  Placed &placedFor(const plan::PlanShape &shape);
  void place(const plan::PlanShape &shape, Placed &placed) const;
  mlir::LogicalResult tryToPlace(const plan::PlanShape &shape, Placed &placed) const;
  plan::Plan meshFor(const plan::PlanShape &shape, int64_t local) const;
  int64_t localExamples(const plan::PlanShape &shape) const;
  /// For the examples of a micro-batch of the shape.
  const Local &localFor(const plan::PlanShape &shape);
  void priceLocal(const plan::PlanShape &shape, Placed &placed, Local &local) const;
  const std::vector<BlockCost> &costsOf(const plan::PlanShape &shape);
  /// What the cost model is asked about a shape; without its layers, which Local has.
  cost::StepProblem stepOf(const plan::PlanShape &shape, const Local &local) const;
  std::vector<plan::Recompute> modes() const;
  /// Ways to keep the values of a block: modes(), with the host if they must be there; and where they may, one more.
  size_t modeCount() const { return modes().size() + (offloads() && !mustOffload() ? 1 : 0); }
  bool offloads() const;
  bool mustOffload() const { return request.mustOffloadActivations && offloads(); }
  bool isOnHost(uint32_t mode) const { return mustOffload() || mode >= modes().size(); }
  plan::Recompute recomputeOf(uint32_t mode) const { return modes()[mode >= modes().size() ? 0 : mode]; }
  /// In a step whose passes are one phase, while the last block turns from one to the other: what the layer before
  /// keeps is still on its way to the host.
  static void addTurn(const std::vector<BlockCost> &costs, plan::StageProblem &problem);
  /// Of a plan that is given, by type of blocks: what it keeps waits with the host.
  std::vector<bool> givenOnHost;
  void findGivenOnHost();
  /// The mode by which blocks of a type are priced: of a plan that is given they lie where it says.
  uint32_t pricedMode(uint32_t type, uint32_t mode) const {
    if (!request.given)
      return mode;
    return givenOnHost[type] ? uint32_t(modeCount() - 1) : isOnHost(mode) ? 0 : mode;
  }
  /// On devices of this kind.
  plan::StageProblem problemOn(const plan::PlanShape &shape);
  bool mayOffload(const plan::PlanShape &shape, const cost::StepProblem &step, const std::vector<BlockCost> &costs,
                  double inFlight) const;
  double hostOptimizerBytes(const plan::PlanShape &shape, const cost::StepProblem &step,
                            const std::vector<BlockCost> &costs) const;
  GraphPricer &kind(size_t number) { return number ? *others[number - 1] : *this; }
  size_t kindOf(const plan::StageSolution &solution, size_t rank) const;
  /// Has a program of the shape a prologue, where parameters are brought to their readers' layouts?
  static bool bringsAtOnce(const plan::PlanShape &shape) { return shape.pp > 1 || shape.microbatches > 1; }
  /// Of a block, what there is all the time beside its state.
  static double onceBytes(const plan::PlanShape &shape, const BlockCost &block);
  double shareOfHeld(const plan::PlanShape &shape, const std::vector<BlockCost> &costs, int64_t stage) const;
  double unitBytes(const plan::PlanShape &shape, const std::vector<BlockCost> &costs, size_t type) const;
  plan::MemoryParts stateOf(const plan::PlanShape &shape, const BlockCost &block) const;
  double separateBytes(const plan::PlanShape &shape) const;
  bool hasVirtualStages(const plan::PlanShape &shape) const { return stagesOf(shape) != shape.pp; }
  /// By stage, also virtual ones, micro-batches that it has in flight at most.
  const std::vector<int64_t> &flightsOf(const plan::PlanShape &shape);
  /// By rank of the pipeline, of the stages as they are cut.
  std::vector<plan::MemoryParts> memoryByRank(const plan::PlanShape &shape, const plan::StageProblem &problem,
                                              const plan::StageSolution &solution);
  bool isAllowed(const plan::PlanShape &shape);
  /// Has the graph as many blocks as the shape has stages, and can plans be of its kind?
  bool canBeCut(const plan::PlanShape &shape) {
    return isAllowed(shape) && stagesOf(shape) <= int64_t(input.blocks.blocks().size());
  }
  void holdSums(plan::Plan &plan) const;
  void addOffload(plan::Plan &plan, const plan::PlanShape &shape, const plan::StageSolution &solution);
  void addRecomputation(plan::Plan &plan, const plan::StageSolution &solution);
  /// The first blocks of all stages but the first.
  std::vector<size_t> cutsOf(const plan::PlanShape &shape, const plan::StageSolution &solution);
  struct SolvedStep {
    cost::StepProblem problem;
    std::vector<std::vector<size_t>> layers;
    /// By rank of the pipeline: once a step, and the exchanges of it.
    std::vector<double> once, exchanged;
  };
  SolvedStep solvedStep(const plan::PlanShape &shape, const plan::StageSolution &solution);
  plan::SimulatedStep simulatedStep(const SolvedStep &solved) const;
  llvm::Expected<cost::StepTimeline> simulate(const plan::PlanShape &shape, const plan::StageSolution &solution,
                                              bool record);
  void addPipeline(plan::Plan &plan, const plan::PlanShape &shape, const plan::StageSolution &solution);

  mlir::func::FuncOp step;
  PlacementInput input;
  StepValues values;
  cost::Machine machine;
  /// Devices of this kind.
  int64_t own = 0;
  cost::Software software;
  GraphRequest request;
  /// Of the other kinds of devices, which take the placements of the first.
  std::vector<std::unique_ptr<GraphPricer>> others;
  GraphPricer *first = nullptr;
  int64_t examples = 1, slots = 0;
  /// Whether the step has batch norms: statistics of a batch, or what moves by them, go over all copies.
  bool statistics = false;
  std::vector<uint32_t> begins;
  std::unique_ptr<Known> known;
  std::unique_ptr<mlir::Diagnostic> refusal;
};

/// Says why a batch cannot be split so; returns failure.
mlir::LogicalResult refuseBatch(mlir::func::FuncOp step, int64_t batch, int64_t dp, int64_t ep, int64_t microbatches);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_GRAPHPRICER_H
