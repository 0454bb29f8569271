//===- StageMap.cpp - Phases of the stages of a pipeline, and what passes between them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/partition/StageMap.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "passes/spmd/layout/AssignStages.h"
#include "passes/spmd/partition/LossGradient.h"
#include <map>

using namespace mlir;

namespace dtcc::spmd {

using plan::Work;

StageMap::StageMap(func::FuncOp step, const plan::Schedule &schedule, const Mesh &mesh, std::string axis)
    : schedule(schedule), axisName(std::move(axis)), phases(schedule.ranks.size()) {
  int64_t stages = schedule.stages();
  stageRows.resize(stages);
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks))
    for (const plan::Action &action : actions) {
      StageRow &row = stageRows[action.stage];
      row.rank = int64_t(rank);
      row.splits |= action.work == Work::InputGradient || action.work == Work::WeightGradient;
    }
  auto addWork = [&](int64_t stage, Work work) {
    phases[stageRows[stage].rank].push_back({phaseName(stage, work), stage, work});
  };
  for (std::vector<StagePhase> &ofRank : phases)
    ofRank.push_back({"prologue", std::nullopt, std::nullopt});
  for (int64_t stage = 0; stage < stages; ++stage)
    addWork(stage, Work::Forward);
  for (int64_t stage = stages - 1; stage >= 0; --stage)
    if (stageRows[stage].splits) {
      addWork(stage, Work::InputGradient);
      addWork(stage, Work::WeightGradient);
    } else {
      addWork(stage, Work::Backward);
    }
  if (llvm::any_of(step.getOps(), [](Operation &op) { return graph::isEvaluation(&op); }))
    for (int64_t stage = 0; stage < stages; ++stage)
      phases[stageRows[stage].rank].push_back({nameIn(stage, kEvaluatePhase), stage, std::nullopt});
  early = findLossGradient(step);
  placeOps(step, mesh);
  findEdges(step);
}

std::string StageMap::phaseName(int64_t stage, Work work) const {
  return nameIn(stage, work == Work::Forward         ? "forward"
                       : work == Work::Backward      ? "backward"
                       : work == Work::InputGradient ? "input_gradient"
                                                     : "weight_gradient");
}

std::string StageMap::nameIn(int64_t stage, StringRef name) const {
  bool alone = llvm::count_if(stageRows, [&](const StageRow &row) { return row.rank == stageRows[stage].rank; }) == 1;
  return alone ? name.str() : name.str() + "." + std::to_string(stage);
}

int64_t StageMap::firstEvaluationOf(int64_t rank) const {
  return llvm::find_if(phases[rank], [](const StagePhase &phase) { return phase.isEvaluation(); }) -
         phases[rank].begin();
}

std::optional<PhasePlace> StageMap::placeOf(Operation *op) const {
  auto place = places.find(op);
  return place == places.end() ? std::nullopt : std::optional(place->second);
}

llvm::ArrayRef<int64_t> StageMap::ownersOf(StringRef state) const {
  auto found = owners.find(state);
  return found == owners.end() ? llvm::ArrayRef<int64_t>() : llvm::ArrayRef<int64_t>(found->second);
}

SmallVector<PhaseRun> StageMap::runsOf(MLIRContext *context, int64_t rank) const {
  SmallVector<PhaseRun> runs;
  auto add = [&](StringRef phase, int64_t slot) { runs.push_back({StringAttr::get(context, phase), slot}); };
  add(phases[rank].front().name, 0);
  for (const plan::Action &action : schedule.ranks[rank])
    add(phaseName(action.stage, action.work), action.microbatch);
  add(kUpdatePhase, 0);
  if (firstEvaluationOf(rank) == int64_t(phases[rank].size()))
    return runs;
  // A program without averages has no phases that exchange them: the caller leaves their runs out.
  add(kTakeAveragePhase, 0);
  for (const plan::Action &action : schedule.ranks[rank])
    if (action.work == Work::Forward)
      add(nameIn(action.stage, kEvaluatePhase), action.microbatch);
  add(kScorePhase, 0);
  add(kReturnAveragePhase, 0);
  return runs;
}

/// The phase of an op that runs once a micro-batch; reshards go with the op that wanted them.
static Work workOf(Operation *op, bool splits, const llvm::DenseSet<Operation *> &forInputs) {
  auto work = [&](Operation *tagged) {
    switch (graph::getPhase(tagged)) {
    case graph::Phase::Forward:
      return Work::Forward;
    case graph::Phase::InputGradient:
      return splits ? Work::InputGradient : Work::Backward;
    default:
      if (!splits)
        return Work::Backward;
      return forInputs.contains(op) ? Work::InputGradient : Work::WeightGradient;
    }
  };
  auto moves = [](Operation *at) { return isa_and_nonnull<ReshardOp, CommunicationOpInterface>(at); };
  if (!moves(op))
    return work(op);
  // Tagged like its first user; the update's are the gradient's own.
  for (Operation *at = op; moves(at);) {
    Operation *first = nullptr;
    for (Operation *user : at->getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
    if (first && !endsStep(first) && !moves(first))
      return work(first);
    at = first;
  }
  Operation *source = op;
  while (moves(source))
    source = source->getOperand(0).getDefiningOp();
  return source ? work(source) : Work::Forward;
}

int64_t StageMap::phaseOf(int64_t stage, std::optional<Work> work) const {
  const std::vector<StagePhase> &ofRank = phases[stageRows[stage].rank];
  return llvm::find_if(ofRank, [&](const StagePhase &phase) { return phase.stage == stage && phase.work == work; }) -
         ofRank.begin();
}

/// A rank that reads a state holds it.
void StageMap::addOwner(Operation &op, int64_t rank) {
  std::optional<StringRef> state = readState(&op);
  if (!state)
    return;
  std::vector<int64_t> &known = owners[*state];
  if (!llvm::is_contained(known, rank))
    known.insert(llvm::lower_bound(known, rank), rank);
}

void StageMap::placeOps(func::FuncOp step, const Mesh &mesh) {
  Block &body = step.getBody().front();
  // Ops that input gradients or other stages need count as input gradients, whatever they were built for, because
  // schedules order stages by input gradients alone.
  llvm::DenseSet<Operation *> forInputs;
  auto leavesStage = [](Operation &op) {
    return llvm::any_of(op.getUsers(),
                        [&](Operation *user) { return getStage(user) && getStage(user) != getStage(&op); });
  };
  for (Operation &op : llvm::reverse(body)) {
    if ((graph::getOrigin(&op) && graph::getPhase(&op) == graph::Phase::InputGradient) || leavesStage(op))
      forInputs.insert(&op);
    if (!forInputs.contains(&op))
      continue;
    for (Value operand : op.getOperands())
      if (Operation *definer = operand.getDefiningOp())
        forInputs.insert(definer);
  }
  std::optional<std::string> time = mesh.timeAxis();
  llvm::DenseSet<Operation *> perSlot, evaluated;
  for (Operation &op : body) {
    std::optional<int64_t> stage = getStage(&op);
    if (!stage)
      continue;
    // Ops of an evaluation run in its phases, those that read states alone too, for an evaluation follows their update.
    if (graph::isEvaluation(&op) ||
        llvm::any_of(op.getOperands(), [&](Value value) { return evaluated.contains(value.getDefiningOp()); })) {
      evaluated.insert(&op);
      places[&op] = {stageRows[*stage].rank, evaluationOf(*stage)};
      addOwner(op, stageRows[*stage].rank);
      continue;
    }
    bool repeats = mesh.slots() == 1 || llvm::any_of(op.getOperands(), [&](Value value) {
                     return !value.getDefiningOp() || perSlot.contains(value.getDefiningOp());
                   });
    for (Value result : op.getResults())
      repeats |= time && cast<TensorType>(result.getType()).getLayout().uses(*time);
    PhasePlace place{stageRows[*stage].rank, 0};
    if (repeats && !isStored(&op)) {
      perSlot.insert(&op);
      place.phase =
          phaseOf(*stage, early.contains(&op) ? Work::Forward : workOf(&op, stageRows[*stage].splits, forInputs));
    }
    places[&op] = place;
    addOwner(op, place.rank);
  }
  // Every stage takes the scale out of its gradients, and adjusts it alike.
  for (auto update : step.getOps<graph::UpdateOp>())
    if (graph::LossScaleAttr scaling = update.getLossScaleAttr())
      for (FlatSymbolRefAttr state : {scaling.getScale(), scaling.getStreak(), scaling.getSkipped()})
        llvm::append_range(owners[state.getValue()] = {}, llvm::seq<int64_t>(0, ranks()));
}

int64_t StageMap::firstOf(int64_t rank, const std::set<int64_t> &among) const {
  int64_t first = *among.begin();
  if (among.size() > 1)
    for (int64_t phase : among)
      // Weight gradients run after the input gradients of their stage. Their order among other phases differs between
      // micro-batches.
      first = std::min(first, phase - (phases[rank][phase].work == Work::WeightGradient));
  return first;
}

void StageMap::findEdges(func::FuncOp step) {
  std::map<std::pair<PhasePlace, PhasePlace>, StageEdge> found;
  for (Operation &op : step.getBody().front()) {
    std::optional<PhasePlace> from = placeOf(&op);
    if (!from)
      continue;
    // Messages go where schedules have them.
    if (early.contains(&op))
      from->phase = phaseOf(*getStage(&op), stageRows[*getStage(&op)].splits ? Work::InputGradient : Work::Backward);
    for (Value result : op.getResults()) {
      std::map<int64_t, std::set<int64_t>> readers; // phases by rank
      for (Operation *user : result.getUsers())
        if (std::optional<PhasePlace> to = placeOf(user); to && to->rank != from->rank)
          readers[to->rank].insert(to->phase);
      for (auto &[rank, phases] : readers) {
        PhasePlace to{rank, firstOf(rank, phases)};
        StageEdge &edge = found[{*from, to}];
        edge.from = *from;
        edge.to = to;
        edge.values.push_back(result);
      }
    }
  }
  std::map<std::pair<int64_t, int64_t>, int64_t> channels;
  for (auto &[key, edge] : found) {
    edge.channel = channels[{edge.from.rank, edge.to.rank}]++;
    allEdges.push_back(std::move(edge));
  }
}

} // namespace dtcc::spmd
