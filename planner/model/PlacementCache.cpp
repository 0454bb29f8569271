//===- PlacementCache.cpp - Placements of a step, each solved once
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/PlacementCache.h"
#include "planner/cost/Kernels.h"
#include "planner/problem/InParallel.h"
#include "planner/transformer/Transformer.h"
#include "llvm/ADT/StringSet.h"
#include <set>
#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace mlir;

namespace dtcc::spmd {

using plan::Parallelism;

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
static LogicalResult refuseRepeating(func::FuncOp step, int64_t tp, int64_t samples) {
  int64_t parameters = 0;
  for (auto state : step->getParentOfType<ModuleOp>().getOps<graph::StateOp>())
    if (state.getRole() == graph::StateRole::parameter)
      parameters += llvm::product_of(state.getSavedShape());
  return step.emitError("is too small to be shared out over tp=")
         << tp << ": with " << parameters << " parameters and " << samples
         << " samples all of these ranks would do the same work; use fewer ranks, a batch that divides by more of "
            "them, "
            "or --mesh=tp="
         << tp << " to share it out all the same";
}

/// Whether a matrix lies in shards over some axes.
static bool isSplit(const plan::StatePlan &state) {
  return state.layout && state.layout->size() > 1 &&
         llvm::any_of(*state.layout, [](const Axes &axes) { return !axes.empty(); });
}

/// Whether `plan` splits the matrices that `other` splits, but for some that are a hundredth of them at most: the
/// fastest placement leaves the weights of a router whole.
static bool splitsAsMuch(const plan::Plan &plan, const plan::Plan &other, const PlacementInput &input) {
  llvm::StringSet<> split;
  for (const plan::StatePlan &state : plan.states)
    if (isSplit(state))
      split.insert(state.name);
  int64_t cells = 0, whole = 0;
  for (const plan::StatePlan &state : other.states)
    if (isSplit(state)) {
      int64_t own = llvm::product_of(input.states.lookup<graph::StateOp>(state.name).getSavedShape());
      cells += own;
      whole += split.contains(state.name) ? 0 : own;
    }
  return whole * 100 <= cells;
}

FailureOr<bool> PlacementCache::solve(plan::Plan &plan, bool share) {
  plan::Plan fast = plan;
  FailureOr<bool> proven = solveFirstPlacement(facts.input, plan, facts.machine, share);
  // Pins say themselves what is split.
  if (failed(proven) || !share || !facts.input.pins.empty())
    return proven;
  // The fastest placement stays what it is for ranks that were asked for, if it shares the model out as well: a shape
  // has one price, whether it was given or found.
  FailureOr<bool> isFastest = solveFirstPlacement(facts.input, fast, facts.machine);
  if (failed(isFastest) || !splitsAsMuch(fast, plan, facts.input))
    return proven;
  plan = std::move(fast);
  return isFastest;
}

LogicalResult PlacementCache::tryToPlace(const Parallelism &shape, PlacedStep &placed) {
  plan::Plan &plan = placed.plan;
  func::FuncOp function = facts.step;
  if (shape.sequenceParallel && failed(checkSequenceParallel(function, shape.tp)))
    return failure();
  // A batch that is shared out in full decides between moving activations and moving parameters.
  int64_t most = std::max<int64_t>(1, facts.samples * shape.tp * shape.cp / facts.machine.ranks);
  plan = facts.meshFor(shape, std::min(most, std::max<int64_t>(1, facts.samples / shape.ep)));
  if (facts.request.given) {
    plan.ops = facts.request.given->ops;
    plan.states = facts.request.given->states;
  } else {
    FailureOr<bool> proven = solve(plan, facts.request.share && shape.tp > 1);
    if (failed(proven))
      return failure();
    placed.proven = *proven;
  }
  // Ranks that all do the same are nobody's plan, though it may be the fastest for a tiny model.
  if (!facts.request.share && !facts.request.given && !facts.request.pins.splitting() && shape.tp > 1 &&
      llvm::none_of(plan.ops, [](const plan::OpPlan &op) {
        return llvm::any_of(op.factors, [](const auto &factor) { return contains(factor.second, "tp"); });
      }))
    return refuseRepeating(function, shape.tp, facts.samples);
  return success(
      succeeded(secondsOfExperts(function, facts.input.expertLayers, plan, facts.machine, facts.request.experts)));
}

void PlacementCache::place(const Parallelism &shape, PlacedStep &placed) {
  if (first) {
    const PlacedStep &there = first->placedFor(shape);
    placed.possible = there.possible;
    placed.proven = there.proven;
    placed.plan = there.plan;
    return;
  }
  placed.possible = succeeded(tryToPlace(shape, placed));
}

PlacedStep &PlacementCache::findPlaced(const Parallelism &shape) {
  auto at = splits.find(splitOf(shape));
  if (at != splits.end())
    return at->second;
  assert(mayAdd() && "threads ask for shapes that were prepared");
  // A split that cannot be placed is no candidate. If no other was allowed, its reason is told.
  ScopedDiagnosticHandler keep(facts.step->getContext(), [&](Diagnostic &diagnostic) {
    if (!refusal && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      refusal = std::make_unique<Diagnostic>(std::move(diagnostic));
    return success();
  });
  PlacedStep &placed = splits[splitOf(shape)];
  place(shape, placed);
  return placed;
}

const PlacedStep &PlacementCache::placedFor(const Parallelism &shape) { return findPlaced(shape); }

PlacementCache::Counts PlacementCache::counts() const {
  Counts sums;
  for (const auto &[split, placed] : splits) {
    sums.all += placed.possible;
    sums.unproven += placed.possible && !placed.proven;
  }
  return sums;
}

LogicalResult PlacementCache::emitRefusal() {
  if (!refusal)
    return failure();
  facts.step->getContext()->getDiagEngine().emit(std::move(*refusal));
  refusal.reset();
  return failure();
}

const PricedStep &PlacementCache::pricedFor(const Parallelism &shape) { return findPriced(shape); }

PricedStep &PlacementCache::findPriced(const Parallelism &shape) {
  auto at = locals.find(keyOf(shape));
  if (at != locals.end() && at->second.sameAs)
    at = locals.find(keyOf(shape, *at->second.sameAs));
  if (at != locals.end())
    return at->second;
  assert(mayAdd() && "threads ask for shapes that were prepared");
  PlacedStep &placed = findPlaced(shape);
  PricedStep &local = locals[keyOf(shape)];
  plan::Plan plan = planFor(shape, placed);
  Reshards reshards(plan, facts.machine);
  ScopedDiagnosticHandler silence(facts.step->getContext(), [](Diagnostic &) { return success(); });
  SequenceTotals totals;
  findExchange(shape, plan, reshards, totals, local);
  if (local.possible)
    price(shape, plan, placed, reshards, local);
  return local;
}

const std::vector<BlockWork> &PlacementCache::worksOf(const Parallelism &shape) {
  PricedStep &local = findPriced(shape);
  std::lock_guard lock(working);
  if (!local.works) {
    PlacedStep &placed = findPlaced(shape);
    plan::Plan plan = planFor(shape, placed);
    Reshards reshards(plan, facts.machine);
    std::vector<BlockCost> costs = costsOf(plan, placed, reshards, local);
    local.works.emplace(std::make_move_iterator(costs.begin()), std::make_move_iterator(costs.end()));
  }
  return *local.works;
}

bool PlacementCache::isPossible(const Parallelism &shape) {
  return placedFor(shape).possible && pricedFor(shape).possible;
}

double PlacementCache::splitByTensor(const Parallelism &shape) {
  const plan::Plan &plan = placedFor(shape).plan;
  double all = 0, split = 0;
  for (Operation *op : facts.input.blocks.uniqueOps()) {
    auto work = dyn_cast<WorkOpInterface>(op);
    std::optional<uint32_t> block = facts.input.blocks.blockOf(op);
    if (!work || !block || graph::getPhase(op) != graph::Phase::Forward)
      continue;
    std::vector<int64_t> sizes;
    for (const auto &factor : cast<FactorOpInterface>(op).getFactorMap().factors)
      sizes.push_back(factor.size);
    double flops = work.getFlops(sizes) * double(facts.input.blocks.countOf(facts.input.blocks.blocks()[*block].type));
    const plan::OpPlan *entry = plan.findOp(*graph::getOrigin(op));
    all += flops;
    if (entry && llvm::any_of(entry->factors, [](const auto &factor) { return contains(factor.second, "tp"); }))
      split += flops;
  }
  return all > 0 ? split / all : 1;
}

std::optional<SequenceExchange> PlacementCache::sameAs(const Parallelism &shape) const {
  auto at = locals.find(keyOf(shape));
  return at == locals.end() ? std::nullopt : at->second.sameAs;
}

const BlockPrices &PlacementCache::pricesOf(plan::Plan plan, SequenceExchange exchange) {
  // Layouts name axes, but those of one rank.
  for (MeshAxis &axis : plan.mesh.axes)
    axis.size = std::min<int64_t>(axis.size, 2);
  std::unique_lock lock(laying);
  auto at = llvm::find_if(laid, [&](const Laid &each) { return each.exchange == exchange && each.plan == plan; });
  if (at == laid.end())
    at = laid.emplace(at, std::move(plan), exchange);
  lock.unlock();
  std::call_once(at->made, [&] {
    at->prices.emplace(table, at->plan, KernelSizes::of(facts.machine), exchange, facts.request.capacity);
  });
  return *at->prices;
}

plan::Plan PlacementCache::planFor(const Parallelism &shape, const PlacedStep &placed) const {
  plan::Plan plan = facts.meshFor(shape, facts.localSamples(shape));
  plan.ops = placed.plan.ops;
  plan.states = placed.plan.states;
  return plan;
}

void PlacementCache::findExchange(const Parallelism &shape, const plan::Plan &plan, Reshards &reshards,
                                  SequenceTotals &totals, PricedStep &local) {
  FailureOr<SequenceOutcome> outcome =
      sequenceOutcome(sites, plan, facts.machine, shape.exchange, reshards.positions, totals);
  local.possible = succeeded(outcome);
  if (local.possible)
    local.sequence = std::move(*outcome);
}

std::vector<cost::Layer> PlacementCache::layersOf(const Parallelism &shape) {
  std::vector<cost::Layer> layers;
  for (cost::LayerInModes &each : layersOf(worksOf(shape), findPriced(shape)))
    for (cost::LayerInModes::Mode &mode : each.modes) {
      cost::Layer &layer = layers.emplace_back(each.layer);
      layer.recompute = std::move(mode.recompute);
      cost::moveToHost(layer, mode.hostBytes);
    }
  return layers;
}

std::vector<cost::LayerInModes> PlacementCache::layersOf(llvm::ArrayRef<BlockWork> works,
                                                         const PricedStep &local) const {
  std::vector<cost::LayerInModes> layers;
  layers.reserve(works.size());
  for (auto [type, work, memory] : llvm::enumerate(works, local.memory)) {
    cost::LayerInModes &each = layers.emplace_back();
    cost::Layer &layer = each.layer;
    layer.forward = work.forward;
    layer.inputGradient = work.inputGradient;
    layer.weightGradient = work.weightGradient;
    layer.parameters = memory.parameters;
    layer.expertParameters = memory.expertParameters;
    layer.matrices = facts.matrices[type];
    layer.leavingBytes = memory.leavingBytes;
    layer.passes = facts.input.blocks.countOf(type) > 1 ? local.hostPasses : 0;
    for (uint32_t mode = 0; mode < facts.modeCount(); ++mode) {
      const auto recompute = size_t(facts.recomputeOf(mode));
      each.modes.push_back({work.again[recompute], facts.isOnHost(mode) ? memory.heldBytes[recompute] : 0});
    }
  }
  return layers;
}

std::vector<BlockCost> PlacementCache::costsOf(const plan::Plan &plan, PlacedStep &placed, Reshards &reshards,
                                               const PricedStep &local) {
  const BlockPrices *&prices = placed.prices[local.sequence.ofAttention];
  if (!prices)
    prices = &pricesOf(plan, local.sequence.ofAttention);
  std::vector<BlockCost> blocks = prices->price(plan, reshards.values);
  FailureOr<double> ofLayers =
      secondsOfExperts(facts.step, facts.input.expertLayers, plan, facts.machine, facts.request.experts);
  double attentions = 0, expertLayers = 0;
  for (size_t type = 0; type < blocks.size(); ++type) {
    double count = double(facts.input.blocks.countOf(type));
    attentions += blocks[type].attentions * count;
    expertLayers += blocks[type].expertLayers * count;
  }
  double sequence = attentions > 0 ? local.sequence.seconds / attentions : 0;
  double experts = expertLayers > 0 ? (succeeded(ofLayers) ? *ofLayers : 0) / expertLayers : 0;
  for (BlockCost &block : blocks) {
    double ofExperts = experts * block.expertLayers, seconds = sequence * block.attentions + ofExperts;
    block.forward.exchangeSeconds += seconds / 2;
    block.inputGradient.exchangeSeconds += seconds / 2;
    // Gradients of weights run beside the exchanges of rows (passes/exec/commands/FillExchanges.cpp).
    block.inputGradient.fillableSeconds += ofExperts / 2;
    if (block.attentions > 0)
      block.again[size_t(plan::Recompute::Full)].exchangeSeconds += sequence * block.attentions / 2;
    // Rows that do not wait are sent again, and nothing comes back: the backward pass does not read the layer's result.
    for (size_t mode = 1; mode < kRecomputeModes; ++mode)
      if (block.sendsAgain[mode])
        block.again[mode].exchangeSeconds += ofExperts / 4;
  }
  return blocks;
}

void PlacementCache::price(const Parallelism &shape, const plan::Plan &plan, PlacedStep &placed, Reshards &reshards,
                           PricedStep &local) {
  std::vector<BlockCost> blocks = costsOf(plan, placed, reshards, local);
  local.memory.assign(blocks.begin(), blocks.end());
  std::vector<BlockWork> works(std::make_move_iterator(blocks.begin()), std::make_move_iterator(blocks.end()));
  double attentions = 0, repeated = 0;
  for (auto [type, work] : llvm::enumerate(works)) {
    double count = double(facts.input.blocks.countOf(type));
    attentions += work.attentions * count;
    repeated += count > 1 ? count : 0;
  }
  // A host issues layers: of a transformer they are counted by their attentions, which may be a part of a block.
  local.hostPasses = attentions > 0 && repeated > 0 ? std::min(1.0, attentions / repeated) : 1;
  cost::Kernels kernels(facts.machine.device, facts.machine.constants, {facts.software.fused, false, false});
  local.once.reserve(works.size());
  for (const BlockWork &work : works)
    local.once.push_back(kernels.seconds(work.once) + work.once.exchangeSeconds);
  cost::StepProblem whole = facts.emptyStep();
  whole.parallel = shape;
  const std::vector<cost::LayerInModes> layers = layersOf(works, local);
  local.passes.reserve(2);
  for (int zero : {0, 3}) {
    whole.parallel.zero = zero;
    local.passes.emplace_back(whole, layers, facts.machine.constants);
  }
}

void PlacementCache::forgetPrices() {
  locals.clear();
  for (auto &[split, placed] : splits)
    placed.prices.clear();
  laid.clear();
  // The freed pieces are small and lie between others, so that later allocations would hardly fill them.
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void PlacementCache::onAllThreads(size_t count, llvm::function_ref<void(size_t)> work) {
  // The first thing that is said, by its number: what is told does not depend on who was faster.
  static thread_local size_t current;
  std::map<size_t, Diagnostic> said;
  ScopedDiagnosticHandler keep(facts.step->getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      said.try_emplace(current, std::move(diagnostic));
    return success();
  });
  auto numbered = [&](size_t number) {
    current = number;
    work(number);
  };
  // Attributes of a context without locks are made by one thread at a time.
  if (facts.step->getContext()->isMultithreadingEnabled())
    plan::inParallel(count, numbered);
  else
    for (size_t number = 0; number < count; ++number)
      numbered(number);
  if (!refusal && !said.empty())
    refusal = std::make_unique<Diagnostic>(std::move(said.begin()->second));
}

void PlacementCache::place(const plan::ShapeList &shapes, IsCandidate isCandidate) {
  std::vector<std::pair<Parallelism, PlacedStep *>> tasks;
  for (const plan::ShapeFamily &family : shapes.families())
    if (isCandidate(family.fewest))
      if (auto [placed, isUnknown] = splits.try_emplace(splitOf(family.fewest)); isUnknown)
        tasks.emplace_back(family.fewest, &placed->second);
  onAllThreads(tasks.size(), [&](size_t number) { place(tasks[number].first, *tasks[number].second); });
}

bool PlacementCache::gathersNoWeights(const Parallelism &shape) const {
  Parallelism other = shape;
  other.stationaryWeights = false;
  auto own = splits.find(splitOf(shape)), at = splits.find(splitOf(other));
  return shape.stationaryWeights && own != splits.end() && at != splits.end() && own->second.possible &&
         own->second.plan.ops == at->second.plan.ops && own->second.plan.states == at->second.plan.states;
}

/// Whether a block alone needs more memory while it runs than a device has, whatever is recomputed and offloaded.
bool PlacementCache::isTooLarge(const PricedStep &local) const {
  double all = facts.machine.memoryBytes();
  if (facts.isMixed || facts.request.anyMemory || all <= 0)
    return false;
  return llvm::any_of(local.memory,
                      [&](const BlockMemory &block) { return *llvm::min_element(block.workingBytes) > all; });
}

void PlacementCache::prepare(const plan::ShapeList &shapes, IsCandidate isCandidate) {
  place(shapes, isCandidate);
  /// The work of one thread: a split with all its numbers of samples.
  struct Task {
    PlacedStep *placed = nullptr;
    std::vector<std::pair<Parallelism, PricedStep *>> locals;
  };
  std::map<Split, Task> bySplit;
  for (const plan::ShapeFamily &family : shapes.families()) {
    const Parallelism &shape = family.fewest;
    if (!isCandidate(shape))
      continue;
    if (PlacedStep &placed = splits[splitOf(shape)]; placed.possible)
      if (auto [local, isUnknown] = locals.try_emplace(keyOf(shape)); isUnknown) {
        Task &task = bySplit[splitOf(shape)];
        task.placed = &placed;
        task.locals.emplace_back(shape, &local->second);
      }
  }
  std::vector<Task> tasks;
  for (auto &[split, task] : bySplit)
    tasks.push_back(std::move(task));
  onAllThreads(tasks.size(), [&](size_t number) {
    PlacedStep &placed = *tasks[number].placed;
    // The exchanges that are asked for, by the samples of a rank: they share the mesh.
    std::map<int64_t, std::vector<std::pair<const Parallelism *, PricedStep *>>> asked;
    for (const auto &[shape, local] : tasks[number].locals)
      asked[facts.localSamples(shape)].emplace_back(&shape, local);
    // With more samples a block needs more memory: what is too large for few has no price for many.
    std::set<SequenceExchange> tooLarge;
    std::optional<Reshards> reshards;
    for (const auto &[samples, locals] : asked) {
      plan::Plan plan = planFor(*locals.front().first, placed);
      if (reshards)
        reshards->resize(plan, facts.machine);
      else
        reshards.emplace(plan, facts.machine);
      SequenceTotals totals;
      std::vector<std::pair<SequenceExchange, const PricedStep *>> others;
      for (auto [shape, local] : locals) {
        if (tooLarge.contains(shape->exchange)) {
          local->possible = false;
          continue;
        }
        findExchange(*shape, plan, *reshards, totals, *local);
        if (!local->possible)
          continue;
        auto same = llvm::find_if(
            others, [&](const auto &other) { return other.second->sequence.entries == local->sequence.entries; });
        if (same != others.end()) {
          local->sameAs = same->first;
          if (tooLarge.contains(same->first))
            tooLarge.insert(shape->exchange);
          continue;
        }
        price(*shape, plan, placed, *reshards, *local);
        others.push_back({shape->exchange, local});
        if (isTooLarge(*local))
          tooLarge.insert(shape->exchange);
      }
    }
  });
}

} // namespace dtcc::spmd
