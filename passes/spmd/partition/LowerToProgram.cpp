//===- LowerToProgram.cpp - Makes the program of a rank
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
// Views of states, constants and broadcasts are made again in each phase that wants them, to save memory.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Origin.h"
#include "dialects/interfaces/Bytes.h"
#include "dialects/spmd/OnHost.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/spmd/Passes.h"
#include "passes/spmd/layout/AssignStages.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "passes/spmd/partition/DispatchExperts.h"
#include "passes/spmd/partition/LocalOps.h"
#include "passes/spmd/partition/OrderSums.h"
#include "passes/spmd/partition/StageMap.h"
#include "passes/spmd/partition/StateValues.h"
#include "passes/spmd/partition/UpdatePhase.h"
#include "passes/spmd/reshard/EmitMoves.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDLOWERTOPROGRAM
#include "passes/spmd/Passes.h.inc"

namespace {

/// Indices of the phases of a program without stages; an op of another stage has none.
enum PhaseNumber : int64_t { Elsewhere = -1, Prologue = 0, Microbatch = 1, Evaluate = 2 };

/// One run over a module.
class ProgramBuilder {
public:
  /// With `stages`, builds the program of stage `stage`.
  ProgramBuilder(ModuleOp module, func::FuncOp step, MeshOp meshOp, const StageMap *stages, int64_t stage)
      : module(module), step(step), meshOp(meshOp), stages(stages), stage(stage), mesh(toMesh(meshOp)), planner(mesh),
        builder(module.getContext()) {}

  LogicalResult run();

private:
  /// Whether this stage computes `value`.
  bool isHere(Value value) const {
    Operation *op = value.getDefiningOp();
    std::optional<PhasePlace> place = stages && op ? stages->placeOf(op) : std::nullopt;
    return !stages || (place && place->rank == stage);
  }
  LogicalResult collect();
  void assignPhases();
  LogicalResult placeWrites();
  LogicalResult emitPhase(int64_t phase);
  LogicalResult emitPhases(Block &body, int64_t begin, int64_t end);
  LogicalResult emitEvaluation(Block &body);
  void emitInput(BlockArgument argument);
  void receive(const StageEdge &edge);
  void send(const StageEdge &edge);
  LogicalResult emitOp(Operation &op);
  LogicalResult emitReshard(ReshardOp op);
  void markWaiting(Value value);
  /// False after a message.
  bool emitFactored(Operation &op);
  /// The local value of `value` in the phase being built; views and constants come to be here.
  Value local(Value value);
  void accumulate(Value value);
  /// The rank axes over which a sum over the batch is partial.
  Axes partialOf(Value value) const;

  /// Whether `value` is recomputed in each phase that reads it.
  bool isRemade(Value value) const;
  /// Whether a phase after `phase` reads `value`, or a recomputed value that depends on `value`.
  bool isReadAfter(Value value, int64_t phase) const;
  RankedTensorType localTypeOf(Value value) const { return localType(cast<TensorType>(value.getType()), mesh); }

  ModuleOp module;
  func::FuncOp step;
  MeshOp meshOp;
  const StageMap *stages;
  int64_t stage;
  Mesh mesh;
  ReshardPlanner planner;
  OpBuilder builder;
  Buckets buckets;
  graph::UpdateOp update;
  Value lossSum, count;
  /// The sums of the evaluation, and its prediction; null without one.
  Value evaluatedSum, evaluatedCount, prediction;
  /// The phases of the evaluation begin here; the number of all phases without one.
  int64_t firstEvaluation = 0;

  /// Buckets and offsets into which a value is accumulated.
  llvm::DenseMap<Value, SmallVector<std::pair<FlatSymbolRefAttr, int64_t>>> sinks;
  llvm::DenseMap<Operation *, int64_t> phases;
  /// Ops of each phase, in the order of the step. A step of many stages is long, so they are collected once.
  std::vector<std::vector<Operation *>> opsOf;
  SmallVector<graph::WriteOp> writes;
  /// States of which this stage has a copy and other stages make the gradient.
  SmallVector<StringRef> withoutGradient;
  SmallVector<std::string> phaseNames;
  int64_t current = Prologue;
  /// Local values of the phases so far, and recomputed values of the current phase.
  llvm::DenseMap<Value, Value> values, remade;
};

} // namespace

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
    return at->second > phase ||
           (user->getNumResults() == 1 && isRemade(user->getResult(0)) && isReadAfter(user->getResult(0), phase));
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
  llvm::StringMap<GradientPlace> gradients;
  for (auto found : step.getOps<graph::UpdateOp>()) {
    if (update)
      return found.emitError("is a second update: a step has one");
    update = found;
    for (auto [name, gradient] : llvm::zip_equal(update.getStates(), update.getGradients()))
      if (StringRef state = cast<FlatSymbolRefAttr>(name).getValue(); !gradients.contains(state) || isHere(gradient)) {
        GradientPlace &place = gradients[state];
        place.layout = cast<TensorType>(gradient.getType()).getLayout();
        if (stages && isHere(gradient))
          place.phases.insert(stages->placeOf(gradient.getDefiningOp())->phase);
      }
  }
  if (update && update.getCount() != count)
    return update.emitError("must divide by the count that the step returns");
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

Value ProgramBuilder::local(Value value) {
  if (!isRemade(value))
    return values.lookup(value);
  if (Value made = remade.lookup(value))
    return made;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    emitInput(argument);
    return remade[value] = values.lookup(value);
  }
  if (std::optional<StringRef> state = readState(value.getDefiningOp()))
    return remade[value] = buckets.read(builder, value.getLoc(), *buckets.find(*state));
  if (ElementsAttr cells; matchPattern(value, m_Constant(&cells)))
    return remade[value] = emitConstant(builder, value.getLoc(), cells, localTypeOf(value));
  // `remade` may grow while operands are made.
  Value result = emitFactored(*value.getDefiningOp()) ? values.lookup(value) : Value();
  return remade[value] = result;
}

void ProgramBuilder::accumulate(Value value) {
  auto at = sinks.find(value);
  if (at == sinks.end())
    return;
  Value x = local(value);
  // A sum that does not differ between micro-batches counts once.
  std::optional<std::string> time = mesh.timeAxis();
  bool differs = time && cast<TensorType>(value.getType()).getLayout().uses(*time);
  if (current != Prologue && mesh.slots() > 1 && !differs)
    x = ZeroFillOp::create(builder, value.getLoc(), x.getType(), x, fromAxes(builder.getContext(), {*time}));
  for (auto [bucket, offset] : at->second)
    AccumulateOp::create(builder, value.getLoc(), x, bucket, builder.getI64IntegerAttr(offset));
}

void ProgramBuilder::emitInput(BlockArgument argument) {
  auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
  if (!name)
    name = builder.getStringAttr("input" + Twine(argument.getArgNumber()));
  values[argument] =
      InputOp::create(builder, argument.getLoc(), localTypeOf(argument), name, TypeAttr::get(argument.getType()),
                      step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role"),
                      step.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), "graph.bounds"));
}

/// Marks the offloaded value of a forward op. It is offloaded in whatever layout and on whatever stage it is kept.
void ProgramBuilder::markWaiting(Value value) {
  Operation *source = value.getDefiningOp(), *made = values[value].getDefiningOp();
  while (auto reshard = dyn_cast_or_null<ReshardOp>(source))
    source = reshard.getX().getDefiningOp();
  if (source && made && source->hasAttr(kOnHostAttr))
    made->setAttr(kOnHostAttr, builder.getUnitAttr());
}

void ProgramBuilder::receive(const StageEdge &edge) {
  for (Value value : edge.values) {
    values[value] = ReceiveOp::create(builder, value.getLoc(), localTypeOf(value), edge.from.rank,
                                      builder.getStringAttr(stages->axis()), edge.channel);
    markWaiting(value);
  }
}

void ProgramBuilder::send(const StageEdge &edge) {
  for (Value value : edge.values)
    SendOp::create(builder, value.getLoc(), local(value), edge.to.rank, builder.getStringAttr(stages->axis()),
                   edge.channel);
}

LogicalResult ProgramBuilder::emitReshard(ReshardOp op) {
  Layout from = op.getX().getType().getLayout(), to = op.getType().getLayout();
  ArrayRef<int64_t> shape = op.getType().getShape();
  if (SplatElementsAttr cells; to.partial.empty() && matchPattern(op.getX(), m_Constant(&cells))) {
    values[op.getY()] = emitConstant(builder, op.getX().getLoc(), cells, localTypeOf(op.getY()));
    return success();
  }
  const auto &way =
      planner.plan(from, to, {shape.begin(), shape.end()}, getElementBytes(op.getType().getElementType()));
  if (!way)
    return op.emitError("has no way to its layout, from ") << from.str() << " to " << to.str();
  Value x = local(op.getX());
  if (!x)
    return failure();
  values[op.getY()] = emitMoves(builder, op.getLoc(), way->moves, x, mesh);
  return success();
}

bool ProgramBuilder::emitFactored(Operation &op) {
  FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
  FailureOr<Placement> placement = inferPlacement(&op, map);
  if (failed(placement))
    return false;
  SmallVector<Value> operands;
  for (Value operand : op.getOperands()) {
    operands.push_back(local(operand));
    if (!operands.back())
      return false;
  }
  SmallVector<Type> types;
  for (Value result : op.getResults()) {
    types.push_back(localTypeOf(result));
    if (!types.back()) {
      op.emitError("layout must divide by the mesh, got: ") << result.getType();
      return false;
    }
  }
  SmallVector<Value> results = emitLocalOp(builder, &op, map, *placement, operands, types);
  for (auto [result, made] : llvm::zip_equal(op.getResults(), results))
    values[result] = made;
  return true;
}

LogicalResult ProgramBuilder::emitOp(Operation &op) {
  // Writes end the phase: until then states are what they were.
  if (endsStep(&op) || accessesState(&op, StateAccessKind::Write) ||
      (op.getNumResults() == 1 && isRemade(op.getResult(0))))
    return success();
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    if (failed(emitReshard(reshard)))
      return failure();
  } else if (isa<FactorOpInterface>(op)) {
    if (!emitFactored(op))
      return failure();
  } else if (isa<CommunicationOpInterface>(op)) {
    values[op.getResult(0)] =
        emitRows(builder, &op, local(op.getOperand(0)), local(op.getOperand(1)), localTypeOf(op.getResult(0)));
  } else {
    return op.emitError("has no local form in this version");
  }
  for (Value result : op.getResults()) {
    markWaiting(result);
    accumulate(result);
  }
  return success();
}

LogicalResult ProgramBuilder::emitPhase(int64_t phase) {
  current = phase;
  remade.clear();
  if (phase >= Microbatch && !stages)
    for (BlockArgument argument : step.getArguments()) {
      emitInput(argument);
      accumulate(argument);
    }
  ArrayRef<StageEdge> edges = stages ? stages->edges() : ArrayRef<StageEdge>();
  for (const StageEdge &edge : edges)
    if (edge.to == PhasePlace{stage, phase})
      receive(edge);
  // The update sums gradients over all stages with a copy, in place: where a stop_gradient leaves a copy without one,
  // what it holds is the sum of the step before.
  if (phase == Prologue + 1)
    for (StringRef state : withoutGradient)
      buckets.clearGradient(builder, step.getLoc(), state);
  for (Operation *op : opsOf[phase])
    if (failed(emitOp(*op)))
      return failure();
  for (graph::WriteOp write : writes)
    if (phases[write] == phase) {
      const StatePlace *place = buckets.find(write.getState());
      StoreOp::create(builder, write.getLoc(), local(write.getX()), buckets.all()[place->bucket].values,
                      builder.getI64IntegerAttr(place->offset));
    }
  // The loop above emits no sums of recomputed values.
  const bool evaluates = phase >= firstEvaluation;
  if (phase == Microbatch || evaluates)
    for (Operation &op : step.getBody().front())
      for (Value result : op.getResults())
        if (auto at = phases.find(&op); at != phases.end() && at->second != Elsewhere && isRemade(result) &&
                                        (evaluates ? at->second == phase : at->second < firstEvaluation))
          accumulate(result);
  for (const StageEdge &edge : edges)
    if (edge.from == PhasePlace{stage, phase})
      send(edge);
  return success();
}

/// Phases [begin, end). What a phase computes and later ones read leaves it as results.
LogicalResult ProgramBuilder::emitPhases(Block &body, int64_t begin, int64_t end) {
  for (int64_t phase = begin; phase < end; ++phase) {
    builder.setInsertionPointToEnd(&body);
    int64_t repeat = phase == Prologue ? 1 : mesh.slots();
    auto draft = PhaseOp::create(builder, step.getLoc(), TypeRange(), phaseNames[phase], repeat);
    Block *block = &draft.getBody().emplaceBlock();
    builder.setInsertionPointToEnd(block);
    if (failed(emitPhase(phase)))
      return failure();
    if (phase != Prologue && phase < firstEvaluation)
      buckets.emitShares(builder, step.getLoc(), *block);
    SmallVector<Value> escaping, yielded;
    for (Operation &op : step.getBody().front())
      for (Value result : op.getResults()) {
        Value made = values.lookup(result);
        if (made && made.getParentBlock() == block && !isRemade(result) && isReadAfter(result, phase)) {
          escaping.push_back(result);
          yielded.push_back(made);
        }
      }
    bool empty = block->empty();
    builder.setInsertionPointToEnd(block);
    YieldOp::create(builder, step.getLoc(), yielded);
    // Nothing to compute ahead, or no input gradient in a stage that begins with its parameters.
    if ((phase == Prologue || stages) && empty) {
      draft.erase();
      continue;
    }
    if (yielded.empty())
      continue;
    builder.setInsertionPoint(draft);
    auto whole = PhaseOp::create(builder, step.getLoc(), ValueRange(yielded).getTypes(), draft.getSymName(), repeat);
    whole.getBody().takeBody(draft.getBody());
    draft.erase();
    for (auto [value, result] : llvm::zip_equal(escaping, whole.getResults()))
      values[value] = result;
  }
  return success();
}

/// The phases behind the update: the loss of every micro-batch, and its sum over all ranks.
LogicalResult ProgramBuilder::emitEvaluation(Block &body) {
  emitAverageExchange(builder, body, step.getLoc(), kTakeAveragePhase, buckets);
  if (failed(emitPhases(body, firstEvaluation, int64_t(phaseNames.size()))))
    return failure();
  builder.setInsertionPointToEnd(&body);
  auto score = PhaseOp::create(builder, step.getLoc(), TypeRange(), kScorePhase, 1);
  builder.setInsertionPointToEnd(&score.getBody().emplaceBlock());
  UpdateDescription description{step.getLoc(), partialOf(evaluatedSum), partialOf(evaluatedCount), {}, 0, {}, {},
                                stage};
  emitScore(builder, description, prediction, prediction ? partialOf(prediction) : Axes());
  YieldOp::create(builder, step.getLoc(), ValueRange());
  emitAverageExchange(builder, body, step.getLoc(), kReturnAveragePhase, buckets);
  return success();
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

LogicalResult ProgramBuilder::run() {
  if (failed(collect()))
    return failure();
  assignPhases();
  if (failed(placeWrites()))
    return failure();
  opsOf.resize(phaseNames.size());
  for (Operation &op : step.getBody().front())
    if (auto at = phases.find(&op); at != phases.end() && at->second != Elsewhere)
      opsOf[at->second].push_back(&op);
  Location loc = step.getLoc();
  builder.setInsertionPoint(step);
  buckets.emit(builder, loc, update && update.getAverage().convertToDouble() > 0,
               prediction ? localTypeOf(prediction).getNumElements() : 0);
  auto scalars = FlatSymbolRefAttr::get(builder.getContext(), Buckets::kScalars);
  sinks[lossSum].push_back({scalars, Buckets::kLossSum});
  sinks[count].push_back({scalars, Buckets::kCount});
  if (evaluatedSum) {
    sinks[evaluatedSum].push_back({scalars, Buckets::kLossSum});
    sinks[evaluatedCount].push_back({scalars, Buckets::kCount});
  }
  if (prediction)
    sinks[prediction].push_back({scalars, Buckets::kPrediction});
  llvm::SetVector<StringRef> differentiated, copied;
  if (update)
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

  std::string name = step.getSymName().str();
  if (stages)
    name += "." + std::to_string(stage);
  auto program = ProgramOp::create(builder, loc, "program", meshOp.getSymName());
  Block &body = program.getBody().emplaceBlock();
  if (failed(emitPhases(body, Prologue, firstEvaluation)))
    return failure();

  builder.setInsertionPointToEnd(&body);
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
  if (evaluatedSum && failed(emitEvaluation(body)))
    return failure();
  program.setSymName(name);
  if (stages) {
    program.setStage(stage);
    program.setAxis(stages->axis());
    SmallVector<PhaseRun> runs = stages->runsOf(builder.getContext(), stage);
    llvm::StringSet<> made;
    for (auto phase : body.getOps<PhaseOp>())
      made.insert(phase.getSymName());
    llvm::erase_if(runs, [&](const PhaseRun &run) { return !made.contains(run.phase); });
    program.setActionsAttr(RunsAttr::get(builder.getContext(), runs));
  }
  orderSums(program);
  return success();
}

/// The programs of all stages of a pipeline, or the one program.
static LogicalResult lowerToPrograms(ModuleOp module, func::FuncOp step, MeshOp meshOp) {
  PlanAttr plan = planOf(module);
  Mesh mesh = toMesh(meshOp);
  std::optional<StageMap> stages;
  if (plan && llvm::any_of(step.getOps(), [](Operation &op) { return getStage(&op).has_value(); })) {
    PipelineAttr pipeline = plan.getPipeline();
    if (!pipeline)
      return module.emitError("has ops with stages, but a plan without a pipeline");
    llvm::Expected<plan::Schedule> schedule = toPipelinePlan(pipeline).scheduleOn(mesh);
    if (!schedule)
      return module.emitError(llvm::toString(schedule.takeError()));
    stages.emplace(step, *schedule, mesh, pipeline.getAxis().str());
  }
  for (int64_t stage = 0, end = stages ? stages->ranks() : 1; stage < end; ++stage)
    if (failed(ProgramBuilder(module, step, meshOp, stages ? &*stages : nullptr, stage).run()))
      return failure();
  step.erase();
  return success();
}

namespace {
struct LowerToProgramPass : impl::SpmdLowerToProgramBase<LowerToProgramPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto found = findDistributedStep(module);
    if (failed(found))
      return signalPassFailure();
    auto [step, mesh] = *found;
    for (BlockArgument argument : step.getArguments())
      if (!isa<TensorType>(argument.getType())) {
        step.emitError("inputs must be !spmd.tensor, got: ") << argument.getType();
        return signalPassFailure();
      }
    if (failed(lowerToPrograms(module, step, mesh)))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::spmd
