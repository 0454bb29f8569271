//===- ProgramBuilder.cpp - Which phase of a program computes what
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op of the step belongs to a phase: the prologue if no input reaches it and there
// are several micro-batches, else the micro-batch; the update itself is the update phase.
// In a pipeline there is a program per stage, with forward and backward phases (StageMap.h)
// instead of the micro-batch; a phase begins with what it receives and ends with what it sends.
// An evaluation has phases of its own behind the update, one a stage, and shares nothing with the step but states and
// inputs.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/partition/ProgramBuilder.h"
#include "dialects/graph/Origin.h"
#include "passes/spmd/partition/OrderSums.h"
#include "passes/spmd/partition/StateValues.h"
#include "passes/spmd/partition/UpdatePhase.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtcc::spmd {

bool ProgramBuilder::isRemade(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return stages != nullptr; // each phase looks at the host's memory
  if (isStored(op))
    return true;
  // Movement that does not shrink what it moves: before the micro-batches, and of parameters in the phases of a stage,
  // which would keep it for each micro-batch in flight.
  if (!onlyRepeatsCells(op) || phases.lookup(op) == Prologue)
    return onlyRepeatsCells(op);
  return stages && phases.lookup(op) != Elsewhere && graph::getPhase(op) == graph::Phase::Forward &&
         llvm::all_of(op->getOperands(), [&](Value value) { return value.getDefiningOp() && isRemade(value); });
}

bool ProgramBuilder::isReadAfter(Value value, int64_t phase) const {
  if (stages && llvm::any_of(stages->edges(), [&](const StageEdge &edge) {
        return edge.from.rank == stage && edge.from.phase > phase && llvm::is_contained(edge.values, value);
      }))
    return true;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto at = phases.find(user);
    if (endsStep(user) || at == phases.end() || at->second == Elsewhere)
      return false;
    if (at->second > phase)
      return true;
    if (user->getNumResults() != 1 || !isRemade(user->getResult(0)))
      return false;
    // A gradient that only moves cells is made again where it is added up.
    return (phase < Microbatch && sinks.contains(user->getResult(0))) || isReadAfter(user->getResult(0), phase);
  });
}

LogicalResult ProgramBuilder::collect() {
  auto returned = step.getBody().front().getTerminator();
  if (returned->getNumOperands() < 2)
    return step.emitError("must return the loss as sum and count, got ") << returned->getNumOperands() << " values";
  lossSum = returned->getOperand(0);
  count = returned->getOperand(1);
  if (returned->getNumOperands() > 4) {
    evaluatedSum = returned->getOperand(3);
    evaluatedCount = returned->getOperand(4);
  }
  if (returned->getNumOperands() > 5)
    prediction = returned->getOperand(5);
  for (auto found : step.getOps<graph::UpdateOp>()) {
    if (update)
      return found.emitError("is a second update: a step has one");
    update = found;
  }
  if (update && update.getCount() != count)
    return update.emitError("must divide by the count that the step returns");
  return success();
}

LogicalResult ProgramBuilder::planBuckets() {
  llvm::StringMap<GradientPlace> gradients;
  if (update)
    for (auto [name, gradient] : llvm::zip_equal(update.getStates(), update.getGradients()))
      if (StringRef state = cast<FlatSymbolRefAttr>(name).getValue(); !gradients.contains(state) || isHere(gradient)) {
        GradientPlace &place = gradients[state];
        place.layout = cast<TensorType>(gradient.getType()).getLayout();
        if (auto at = phases.find(gradient.getDefiningOp()); at != phases.end() && at->second != Elsewhere)
          place.phases.insert(at->second);
      }
  FailureOr<Buckets> planned =
      Buckets::plan(module, mesh, gradients, update ? update.getOptimizer() : Attribute(), stages, stage);
  if (failed(planned))
    return failure();
  buckets = std::move(*planned);
  return success();
}

void ProgramBuilder::assignPhases() {
  if (stages) {
    for (const StagePhase &phase : stages->phasesOf(stage))
      phaseNames.push_back(phase.name);
    firstEvaluation = stages->firstEvaluationOf(stage);
    for (Operation &op : step.getBody().front())
      if (std::optional<PhasePlace> place = stages->placeOf(&op))
        phases[&op] = place->rank == stage ? place->phase : Elsewhere;
    return;
  }
  phaseNames = {"prologue", "microbatch"};
  firstEvaluation = int64_t(phaseNames.size());
  if (evaluatedSum)
    phaseNames.push_back(kEvaluatePhase.str());
  std::optional<std::string> time = mesh.timeAxis();
  for (Operation &op : step.getBody().front()) {
    auto ofEvaluation = [&](Value value) { return phases.lookup(value.getDefiningOp()) == Evaluate; };
    if (graph::isEvaluation(&op) || (!endsStep(&op) && llvm::any_of(op.getOperands(), ofEvaluation))) {
      phases[&op] = Evaluate;
      continue;
    }
    bool perSlot = llvm::any_of(op.getOperands(), [&](Value value) {
      Operation *def = value.getDefiningOp();
      return !def || phases.lookup(def) == Microbatch;
    });
    for (Value result : op.getResults())
      perSlot |= time && cast<TensorType>(result.getType()).getLayout().uses(*time);
    // With one micro-batch nothing is gained by a prologue.
    perSlot |= mesh.slots() == 1;
    phases[&op] = perSlot && !isStored(&op) ? Microbatch : Prologue;
  }
}

Axes ProgramBuilder::partialOf(Value value) const {
  Axes partial = cast<TensorType>(value.getType()).getLayout().partial, result;
  for (const MeshAxis &axis : mesh.axes)
    if (!axis.time && (contains(partial, axis.name) || (stages && axis.name == stages->axis())))
      result.push_back(axis.name);
  return result;
}

/// A state is written in the phase that makes its value, or in the last one that reads what it was.
LogicalResult ProgramBuilder::placeWrites() {
  llvm::append_range(writes, step.getOps<graph::WriteOp>());
  for (graph::WriteOp write : writes) {
    auto at = phases.find(write);
    bool elsewhere = at == phases.end() || at->second == Elsewhere;
    // Each stage computes what depends on states alone where it reads it, from copies of its own.
    if (stages &&
        (elsewhere ? buckets.find(write.getState()) != nullptr : dependsOnOtherStates(write.getX(), write.getState())))
      return write.emitError("buffer '")
             << write.getState()
             << "' changes in forward by values that several stages of the pipeline may hold: "
                "compile without pp";
    if (elsewhere)
      continue;
    int64_t made = at->second;
    for (graph::ReadOp read : step.getOps<graph::ReadOp>())
      while (!graph::isEvaluation(read) && read.getState() == write.getState() &&
             at->second + 1 < int64_t(phaseNames.size()) && isReadAfter(read.getY(), at->second))
        ++at->second;
    if (at->second != made && mesh.slots() > 1)
      return write.emitError("buffer '") << write.getState()
                                         << "' changes in forward, and every micro-batch reads its former value: "
                                            "number of micro-batches must be 1, got: "
                                         << mesh.slots();
  }
  return success();
}

/// Sinks of all sums: of losses and counts, and of gradients into the buckets of their states.
void ProgramBuilder::addSinks() {
  auto scalars = FlatSymbolRefAttr::get(builder.getContext(), Buckets::kScalars);
  sinks[lossSum].push_back({scalars, Buckets::kLossSum});
  sinks[count].push_back({scalars, Buckets::kCount});
  if (evaluatedSum) {
    sinks[evaluatedSum].push_back({scalars, Buckets::kLossSum});
    sinks[evaluatedCount].push_back({scalars, Buckets::kCount});
  }
  if (prediction)
    sinks[prediction].push_back({scalars, Buckets::kPrediction});
  if (!update)
    return;
  llvm::SetVector<StringRef> differentiated, copied;
  for (auto [name, gradient] : llvm::zip_equal(update.getStates(), update.getGradients())) {
    const StatePlace *place = buckets.find(cast<FlatSymbolRefAttr>(name).getValue());
    if (!place)
      continue; // of another stage
    if (stages)
      (isHere(gradient) ? differentiated : copied).insert(cast<FlatSymbolRefAttr>(name).getValue());
    sinks[gradient].push_back({Buckets::accumulator(buckets.all()[place->bucket]), place->offset});
  }
  copied.set_subtract(differentiated);
  withoutGradient = copied.takeVector();
}

/// The phase that ends a step: loss and count are reduced, and what trains is updated.
void ProgramBuilder::emitUpdatePhase(ProgramOp program) {
  Location loc = step.getLoc();
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto last = PhaseOp::create(builder, loc, TypeRange(), kUpdatePhase, 1);
  builder.setInsertionPointToEnd(&last.getBody().emplaceBlock());
  UpdateDescription description{loc, partialOf(lossSum), partialOf(count), {}, 0, {}, {}, stage};
  if (update) {
    description.optimizer = update.getOptimizer();
    description.clip = update.getClip().convertToDouble();
    description.lossScale = update.getLossScaleAttr();
    description.average = update.getAverage().convertToDouble();
    nameOptimizer(program, update, mesh);
  }
  if (stages)
    description.axis = stages->axis();
  emitUpdate(builder, description, buckets, mesh);
  YieldOp::create(builder, loc, ValueRange());
}

/// Says of which stage the program is, and in which order its phases run. Phases that were empty are not there.
void ProgramBuilder::setActions(ProgramOp program) {
  program.setStage(stage);
  program.setAxis(stages->axis());
  SmallVector<PhaseRun> runs = stages->runsOf(builder.getContext(), stage);
  llvm::StringSet<> made;
  for (auto phase : program.getBody().getOps<PhaseOp>())
    made.insert(phase.getSymName());
  llvm::erase_if(runs, [&](const PhaseRun &run) { return !made.contains(run.phase); });
  program.setActionsAttr(RunsAttr::get(builder.getContext(), runs));
}

LogicalResult ProgramBuilder::run() {
  if (failed(collect()))
    return failure();
  assignPhases();
  if (failed(planBuckets()) || failed(placeWrites()))
    return failure();
  opsOf.resize(phaseNames.size());
  for (Operation &op : step.getBody().front())
    if (auto at = phases.find(&op); at != phases.end() && at->second != Elsewhere) {
      opsHere.push_back(&op);
      opsOf[at->second].push_back(&op);
    }
  builder.setInsertionPoint(step);
  buckets.emit(builder, step.getLoc(), update && update.getAverage().convertToDouble() > 0,
               prediction ? localTypeOf(prediction).getNumElements() : 0);
  addSinks();
  auto program = ProgramOp::create(builder, step.getLoc(), "program", meshOp.getSymName());
  Block &body = program.getBody().emplaceBlock();
  if (failed(emitPhases(body, Prologue, firstEvaluation)))
    return failure();
  emitUpdatePhase(program);
  if (evaluatedSum && failed(emitEvaluation(body)))
    return failure();
  program.setSymName(step.getSymName().str() + (stages ? "." + std::to_string(stage) : ""));
  if (stages)
    setActions(program);
  orderSums(program);
  return success();
}

} // namespace dtcc::spmd
