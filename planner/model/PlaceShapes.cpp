//===- PlaceShapes.cpp - The placements of shapes, and the prices of their blocks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Diagnostics.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/cost/Kernels.h"
#include "planner/model/KnownPrices.h"
#include "planner/problem/InParallel.h"
#include "planner/search/ShapeParallel.h"
#include "planner/transformer/Transformer.h"

using namespace mlir;

namespace dtcc::spmd {

using plan::PlanShape;

plan::Plan GraphPricer::meshFor(const PlanShape &shape, int64_t local) const {
  plan::Plan plan =
      plan::makeDefaultPlan(1, std::max<int64_t>(1, examples / (local * shape.ep)), shape.tp, 0, 1, shape.cp);
  addExpertAxis(plan, shape.ep);
  plan.sequenceParallel = shape.sequenceParallel;
  return plan;
}

/// Can the tensor-parallel ranks share positions out?
static LogicalResult checkSequenceParallel(func::FuncOp step, int64_t tp) {
  bool any = false;
  for (BlockArgument argument : step.getArguments()) {
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
    auto type = cast<ShapedType>(argument.getType());
    if (!role || role.getValue() == "data" || type.getRank() < 2)
      continue;
    any = true;
    if (type.getDimSize(1) % tp)
      return step.emitError("sequence parallelism needs sequences that divide by tp=")
             << tp << ", got: " << type.getDimSize(1) << " positions";
  }
  return any ? success()
             : step.emitError("sequence parallelism needs inputs of tokens: this model has no positions; leave "
                              "--sequence-parallel=on out");
}

/// Says that ranks of `tp` that nobody asked for would all do the same.
static LogicalResult refuseRepeating(func::FuncOp step, int64_t tp, int64_t examples) {
  int64_t parameters = 0;
  for (auto state : step->getParentOfType<ModuleOp>().getOps<graph::StateOp>())
    if (state.getRole() == graph::StateRole::parameter)
      parameters += llvm::product_of(state.getSavedShape());
  return step.emitError("is too small to be shared out over tp=")
         << tp << ": with " << parameters << " parameters and " << examples
         << " examples all of these ranks would do the same work; use fewer ranks, a batch that divides by more of "
            "them, "
            "or --mesh=tp="
         << tp << " to share it out all the same";
}

LogicalResult GraphPricer::tryToPlace(const PlanShape &shape, Placed &placed) const {
  plan::Plan &plan = placed.plan;
  func::FuncOp function = step;
  if (shape.sequenceParallel && failed(checkSequenceParallel(function, shape.tp)))
    return failure();
  // A batch that is shared out in full decides between moving activations and moving parameters.
  int64_t most = std::max<int64_t>(1, examples * shape.tp * shape.cp / machine.ranks);
  plan = meshFor(shape, std::min(most, std::max<int64_t>(1, examples / shape.ep)));
  if (request.given) {
    plan.ops = request.given->ops;
    plan.states = request.given->states;
  } else {
    FailureOr<bool> proven = solveFirstPlacement(input, plan, machine, request.share && shape.tp > 1);
    if (failed(proven))
      return failure();
    placed.proven = *proven;
  }
  // Ranks that all do the same are nobody's plan, though it may be the fastest for a tiny model.
  if (!request.share && !request.given && !request.pins.splitting() && shape.tp > 1 &&
      llvm::none_of(plan.ops, [](const plan::OpPlan &op) {
        return llvm::any_of(op.factors, [](const auto &factor) { return contains(factor.second, "tp"); });
      }))
    return refuseRepeating(function, shape.tp, examples);
  plan::Plan whole = plan;
  placed.exchanges = std::make_unique<ReshardPrices>(plan.mesh, secondsOfMoves(plan.mesh, machine));
  return success(succeeded(placeExperts(function, whole, machine, request.experts)) &&
                 succeeded(sequenceSeconds(known->sites, plan, machine, request.exchange, *placed.exchanges)));
}

void GraphPricer::place(const PlanShape &shape, Placed &placed) const {
  if (first) {
    const Placed &there = first->placedFor(shape);
    placed.possible = there.possible;
    placed.proven = there.proven;
    placed.plan = there.plan;
    return;
  }
  placed.possible = succeeded(tryToPlace(shape, placed));
}

GraphPricer::Placed &GraphPricer::placedFor(const PlanShape &shape) {
  auto at = known->splits.find(Known::splitOf(shape));
  if (at != known->splits.end())
    return at->second;
  // What cannot be split so is no candidate; if nothing else was allowed, the reason is told.
  ScopedDiagnosticHandler keep(step->getContext(), [&](Diagnostic &diagnostic) {
    if (!refusal && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      refusal = std::make_unique<Diagnostic>(std::move(diagnostic));
    return success();
  });
  Placed &placed = known->splits[Known::splitOf(shape)];
  place(shape, placed);
  return placed;
}

GraphPricer::Placements GraphPricer::placements() const {
  Placements sums;
  for (const auto &[split, placed] : known->splits) {
    sums.all += placed.possible;
    sums.unproven += placed.possible && !placed.proven;
  }
  return sums;
}

int64_t GraphPricer::localExamples(const PlanShape &shape) const {
  return std::max<int64_t>(1, examples / (shape.dp * shape.microbatches));
}

const GraphPricer::Local &GraphPricer::localFor(const PlanShape &shape) {
  std::pair key(Known::splitOf(shape), localExamples(shape));
  auto at = known->locals.find(key);
  if (at != known->locals.end())
    return at->second;
  Placed &placed = placedFor(shape);
  Local &local = known->locals[key];
  priceLocal(shape, placed, local);
  return local;
}

const std::vector<BlockCost> &GraphPricer::costsOf(const PlanShape &shape) { return localFor(shape).costs; }

const BlockPrices &GraphPricer::Known::pricesOf(plan::Plan plan, int64_t logitsBytes, SequenceExchange exchange) {
  // Layouts name axes, but those of one rank.
  for (MeshAxis &axis : plan.mesh.axes)
    axis.size = std::min<int64_t>(axis.size, 2);
  std::unique_lock lock(laying);
  auto at = llvm::find_if(laid, [&](const Laid &each) { return each.exchange == exchange && each.plan == plan; });
  if (at == laid.end())
    at = laid.emplace(at, std::move(plan), exchange);
  lock.unlock();
  std::call_once(at->made, [&] { at->prices.emplace(table, at->plan, logitsBytes, exchange); });
  return *at->prices;
}

void GraphPricer::priceLocal(const PlanShape &shape, Placed &placed, Local &local) const {
  plan::Plan plan = meshFor(shape, localExamples(shape));
  plan.ops = placed.plan.ops;
  plan.states = placed.plan.states;
  MoveCost cost = secondsOfMoves(plan.mesh, machine);
  for (std::unique_ptr<ReshardPrices> *each : {&placed.reshards, &placed.exchanges})
    if (*each)
      (*each)->resize(plan.mesh, cost);
    else
      *each = std::make_unique<ReshardPrices>(plan.mesh, cost);
  if (!placed.prices)
    placed.prices = &known->pricesOf(plan, logitsBytesOf(machine),
                                     exchangeOf(known->sites, plan, machine, request.exchange, *placed.exchanges));
  std::vector<BlockCost> &blocks = local.costs;
  blocks = placed.prices->price(plan, *placed.reshards);
  FailureOr<double> ofSequence = sequenceSeconds(known->sites, plan, machine, request.exchange, *placed.exchanges);
  FailureOr<double> ofExperts = placeExperts(step, plan, machine, request.experts);
  double attentions = 0, expertLayers = 0, repeated = 0;
  for (size_t type = 0; type < blocks.size(); ++type) {
    double count = double(input.blocks.countOf(type));
    attentions += blocks[type].attentions * count;
    expertLayers += blocks[type].expertLayers * count;
    repeated += count > 1 ? count : 0;
  }
  double sequence = attentions > 0 ? (succeeded(ofSequence) ? *ofSequence : 0) / attentions : 0;
  double experts = expertLayers > 0 ? (succeeded(ofExperts) ? *ofExperts : 0) / expertLayers : 0;
  // A host issues layers: of a transformer they are counted by their attentions, which may be a part of a block.
  double passes = attentions > 0 && repeated > 0 ? std::min(1.0, attentions / repeated) : 1;
  local.step.device = machine.device;
  local.step.fabric = machine.fabric;
  local.step.software = software;
  cost::Kernels kernels(machine.device, machine.constants, {software.fused, false, false});
  for (size_t type = 0; type < blocks.size(); ++type) {
    BlockCost &block = blocks[type];
    double seconds = sequence * block.attentions + experts * block.expertLayers;
    block.forward.exchangeSeconds += seconds / 2;
    block.inputGradient.exchangeSeconds += seconds / 2;
    if (block.attentions + block.expertLayers > 0)
      block.again[size_t(plan::Recompute::Full)].exchangeSeconds += seconds / 2;
    local.once.push_back(kernels.seconds(block.once) + block.once.exchangeSeconds);
    local.step.boundaryBytes = std::max(local.step.boundaryBytes, block.enteringBytes);
    for (uint32_t mode = 0; mode < modeCount(); ++mode) {
      cost::Layer layer;
      layer.forward = block.forward;
      layer.inputGradient = block.inputGradient;
      layer.weightGradient = block.weightGradient;
      layer.recompute = block.again[size_t(recomputeOf(mode))];
      layer.parameters = block.parameters;
      layer.expertParameters = block.expertParameters;
      layer.passes = input.blocks.countOf(type) > 1 ? passes : 0;
      if (isOnHost(mode))
        cost::moveToHost(layer, block.heldBytes[size_t(recomputeOf(mode))]);
      local.layers.push_back(std::move(layer));
    }
  }
  cost::StepProblem whole = local.step;
  whole.layers = local.layers;
  whole.parallel = plan::parallelOf(shape);
  for (int zero : {0, 3}) {
    whole.parallel.zero = zero;
    local.passes.emplace_back(whole, machine.constants);
  }
}

bool GraphPricer::prepare(const std::vector<PlanShape> &shapes) {
  /// What is done by one thread: a split with all its numbers of examples.
  struct Task {
    const PlanShape *shape;
    Placed *placed = nullptr;
    std::vector<std::pair<const PlanShape *, Local *>> locals;
  };
  std::vector<Task> tasks;
  std::map<Known::Split, size_t> numbers;
  for (const PlanShape &shape : shapes) {
    if (!canBeCut(shape))
      continue;
    auto split = Known::splitOf(shape);
    auto [number, isNew] = numbers.try_emplace(split, tasks.size());
    if (isNew) {
      tasks.push_back({&shape, nullptr, {}});
      auto [placed, isUnknown] = known->splits.try_emplace(split);
      tasks.back().placed = isUnknown ? &placed->second : nullptr;
    }
    if (auto [local, isUnknown] = known->locals.try_emplace({split, localExamples(shape)}); isUnknown)
      tasks[number->second].locals.push_back({&shape, &local->second});
  }
  // The first thing that is said of a split, by its number: what is told does not depend on who was faster.
  static thread_local size_t current;
  std::map<size_t, Diagnostic> said;
  ScopedDiagnosticHandler keep(step->getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      said.try_emplace(current, std::move(diagnostic));
    return success();
  });
  auto work = [&](size_t number) {
    current = number;
    Task &task = tasks[number];
    if (task.placed)
      place(*task.shape, *task.placed);
    Placed &placed = known->splits.find(Known::splitOf(*task.shape))->second;
    if (placed.possible)
      for (auto [shape, local] : task.locals)
        priceLocal(*shape, placed, *local);
  };
  // Attributes of a context without locks are made by one thread at a time.
  if (step->getContext()->isMultithreadingEnabled())
    plan::inParallel(tasks.size(), work);
  else
    for (size_t number = 0; number < tasks.size(); ++number)
      work(number);
  for (const Task &task : tasks)
    if (auto split = Known::splitOf(*task.shape); !known->splits[split].possible)
      for (auto [shape, local] : task.locals)
        known->locals.erase({split, localExamples(*shape)});
  if (!refusal && !said.empty())
    refusal = std::make_unique<Diagnostic>(std::move(said.begin()->second));
  for (const std::unique_ptr<GraphPricer> &other : others)
    other->prepare(shapes);
  return true;
}

} // namespace dtcc::spmd
