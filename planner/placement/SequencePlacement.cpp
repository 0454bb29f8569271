//===- SequencePlacement.cpp - Where positions meet each other
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/placement/SequencePlacement.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/Bytes.h"
#include "passes/spmd/layout/FactorClasses.h"
#include "passes/spmd/layout/Projection.h"
#include "passes/spmd/layout/RingAttention.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace mlir;

namespace dtcc::spmd {

namespace {

class SequencePlacer {
public:
  SequencePlacer(const SequenceSites &sites, const plan::Plan &plan, const cost::Machine &machine,
                 ReshardPrices &reshards, SequenceTotals &totals)
      : sites(sites), plan(plan), batchAxes(plan.withoutUnitAxes(plan.batchAxes)),
        axes(plan.withoutUnitAxes(plan.sequenceAxes)), machine(machine), reshards(reshards), totals(totals) {}

  /// `write` is called for a site whose forward ops take the sequence axes, with the factor and all its axes; without
  /// factor for a ring.
  using Write =
      llvm::function_ref<void(const SequenceSites::Site &site, std::optional<int64_t> factor, const Axes &whole)>;
  FailureOr<double> run(SequenceExchange exchange, Write write);

private:
  /// Seconds of the shifts of a ring of these ops: keys and values go to all but one, their gradients, which are sums
  /// in f32 or wider, once around (passes/spmd/layout/RingAttention.cpp).
  double secondsOfRing(ArrayRef<Operation *> ops) const;
  /// The factor that can be split in the place of positions: every operand of numbers that has
  /// positions has it. Nothing if there is none.
  std::optional<int64_t> standIn(Operation *op, const FactorMap &map) const;
  /// Seconds that bring operands there and results back. `factor` is that of the forward op
  /// which takes the sequence axes; -1: the first dimension of positions. `brought`: operands
  /// that were counted before.
  double secondsOf(Operation *op, int64_t origin, int64_t factor, llvm::DenseSet<Value> &brought);

  const SequenceSites &sites;
  const plan::Plan &plan;
  Axes batchAxes, axes;
  const cost::Machine &machine;
  ReshardPrices &reshards;
  SequenceTotals &totals;
};

} // namespace

/// Whether the op needs a dimension of positions whole.
static bool joinsPositions(const SequenceSites &sites, Operation *op, const FactorMap &map) {
  for (size_t f = 0; f < map.factors.size(); ++f)
    if (sites.isPosition(op, f) && map.factors[f].kind == FactorKind::Decompose && whyNotAssignable(op, map, f))
      return true;
  return false;
}

SequenceSites::SequenceSites(const PlacementInput &input) : input(input) {
  func::FuncOp step = input.blocks.step();
  llvm::MapVector<int64_t, SmallVector<Operation *>> origins;
  // Blocks that are alike are exchanged alike.
  llvm::DenseMap<int64_t, SmallVector<Operation *>> alike;
  for (Operation *op : input.blocks.uniqueOps())
    if (std::optional<int64_t> origin = graph::getOrigin(op); origin && isa<FactorOpInterface>(op))
      origins[*origin].push_back(op);
  for (Operation &op : step.getBody().front())
    if (graph::getOrigin(&op) && graph::getPhase(&op) == graph::Phase::Forward)
      alike[*graph::getOrigin(input.blocks.representative(&op))].push_back(&op);
  for (auto &[origin, ops] : origins) {
    FactorMap map = cast<FactorOpInterface>(ops.front()).getFactorMap();
    if (graph::getPhase(ops.front()) == graph::Phase::Forward && joinsPositions(*this, ops.front(), map))
      sites.push_back({origin, ops, alike[origin], std::move(map)});
  }
}

std::optional<int64_t> SequencePlacer::standIn(Operation *op, const FactorMap &map) const {
  for (auto [f, factor] : llvm::enumerate(map.factors)) {
    if (factor.kind != FactorKind::Parallel || sites.isPosition(op, f) || sites.isSample(op, f))
      continue;
    // Masks are small: they may come whole.
    auto isLarge = [&](Value value) { return isa<FloatType>(cast<ShapedType>(value.getType()).getElementType()); };
    bool everywhere = true;
    for (auto [value, dims] : llvm::zip_equal(op->getOperands(), map.operands))
      if (isLarge(value) && llvm::any_of(dims, [&](int64_t d) { return d != kNoFactor && sites.isPosition(op, d); }))
        everywhere &= llvm::is_contained(dims, int64_t(f));
    if (everywhere)
      return f;
  }
  return std::nullopt;
}

double SequencePlacer::secondsOf(Operation *op, int64_t origin, int64_t factor, llvm::DenseSet<Value> &brought) {
  const PlannedOp factors(op);
  const FactorMap &map = factors.map;
  // At home positions are split; here the axes stand on one factor.
  std::vector<Axes> home = factors.axesFrom([&](int64_t source) { return plan.axesOf(plan.findOp(origin), source); });
  Placement here;
  here.factors.resize(home.size());
  for (size_t f = 0; f < home.size(); ++f) {
    if (sites.isSample(op, f))
      home[f] = batchAxes;
    here.factors[f] = home[f];
    if (factor >= 0 ? factors.sources[f] == factor : sites.isPosition(op, f) && factors.assignable[f])
      here.give(f, axes);
    if (sites.isPosition(op, f))
      llvm::append_range(home[f], axes);
  }
  llvm::Expected<OpLayouts> layouts = project(map, here);
  if (!layouts) {
    llvm::consumeError(layouts.takeError());
    return 0;
  }
  auto price = [&](Value value, ArrayRef<int64_t> dims, const Layout &at, bool comes) {
    Layout away = Layout::replicated(dims.size());
    std::vector<int64_t> shape;
    for (auto [dim, walked] : llvm::enumerate(dims)) {
      if (walked != kNoFactor)
        away.dims[dim] = home[walked];
      // The padded size must be a multiple of both layouts' parts: the least common multiple, so that a dimension which
      // both split alike is not padded twice.
      int64_t parts = std::lcm(plan.mesh.product(at.dims[dim]), plan.mesh.product(away.dims[dim]));
      shape.push_back(llvm::divideCeil(cast<ShapedType>(value.getType()).getDimSize(dim), parts) * parts);
    }
    return reshards.price(comes ? away : at, comes ? at : away, shape, getElementBytes(getElementTypeOrSelf(value)))
        .value_or(ReshardPrices::Price())
        .time.seconds;
  };
  auto isOwn = [&](Operation *other) { return other && graph::getOrigin(other) == std::optional<int64_t>(origin); };
  double seconds = 0;
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    // The backward op finds values in place that the forward op made, or that were resharded for it.
    if (!isOwn(value.getDefiningOp()) && brought.insert(value).second)
      seconds += price(value, map.operands[i], layouts->operands[i], /*comes=*/true);
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    if (!llvm::all_of(value.getUsers(), isOwn))
      seconds += price(value, map.results[i], layouts->results[i], /*comes=*/false);
  return seconds * plan.mesh.slots();
}

double SequencePlacer::secondsOfRing(ArrayRef<Operation *> ops) const {
  const double ranks = double(plan.mesh.product(axes));
  const cost::Group group = groupOf(axes, plan.mesh);
  auto shift = [&](double bytes) { return machine.secondsForTransfer({CollectiveKind::Shift, bytes, group}); };
  double seconds = 0;
  for (Operation *op : ops)
    for (unsigned key : {1, 2}) {
      if (op->getNumOperands() < 3)
        continue;
      auto type = cast<ShapedType>(op->getOperand(key).getType());
      double cells = double(type.getNumElements()) / ranks / double(plan.mesh.product(batchAxes));
      double width = double(type.getElementTypeBitWidth()) / 8;
      seconds += (ranks - 1) * shift(cells * width);
      if (isa<graph::AttentionGradOp>(op))
        seconds += ranks * shift(cells * std::max(width, 4.0));
    }
  return seconds * plan.mesh.slots();
}

FailureOr<double> SequencePlacer::run(SequenceExchange exchange, Write write) {
  double seconds = 0;
  for (const SequenceSites::Site &site : sites.sites) {
    const auto &[origin, ops, alike, map] = site;
    Operation *forward = ops.front();
    auto total = [&](int64_t factor) {
      auto [known, isNew] = totals.try_emplace({&site, factor});
      llvm::DenseSet<Value> brought;
      for (Operation *op : isNew ? ArrayRef(site.ops) : ArrayRef<Operation *>())
        known->second += secondsOf(op, site.origin, factor, brought);
      return known->second;
    };
    if (exchange == SequenceExchange::Ring && !whyNotRing(forward)) {
      write(site, std::nullopt, {});
      seconds += secondsOfRing(ops) * double(alike.size());
      continue;
    }
    double gathered = total(-1), exchanged = 0;
    // Attention that cannot be a ring gathers, too.
    bool gathers = exchange == SequenceExchange::Gather || exchange == SequenceExchange::Ring;
    std::optional<int64_t> factor = gathers ? std::nullopt : standIn(forward, map);
    Axes whole = factor ? plan.axesOf(plan.findOp(origin), *factor) : Axes();
    llvm::append_range(whole, axes);
    bool divides = factor && map.factors[*factor].size % plan.mesh.product(whole) == 0;
    if (exchange == SequenceExchange::AllToAll && !factor)
      return forward->emitError("all-to-all over ")
             << llvm::join(axes, ",")
             << " shares out heads, and this has none: take --cp-attention=gather, or leave it out";
    if (exchange == SequenceExchange::AllToAll && !divides)
      return forward->emitError("all-to-all over ")
             << llvm::join(axes, ",") << " needs heads that divide by " << plan.mesh.product(whole)
             << ", got: " << map.factors[*factor].size;
    if (divides)
      exchanged = total(*factor);
    // With equal bytes the all-to-all is better: causal work is the same on all ranks.
    if (!divides || (exchange == SequenceExchange::Cheaper && gathered < exchanged)) {
      seconds += gathered * double(alike.size());
      continue;
    }
    seconds += exchanged * double(alike.size());
    write(site, factor, whole);
  }
  return seconds;
}

FailureOr<SequenceOutcome> sequenceOutcome(const SequenceSites &sites, const plan::Plan &plan,
                                           const cost::Machine &machine, SequenceExchange exchange,
                                           ReshardPrices &reshards, SequenceTotals &totals) {
  SequenceOutcome outcome;
  if (plan.withoutUnitAxes(plan.sequenceAxes).empty())
    return outcome;
  auto first = llvm::find_if(sites.sites, [](const auto &site) { return isa<graph::AttentionOp>(site.ops.front()); });
  // An attention for which nothing is written gathers.
  if (first != sites.sites.end())
    outcome.ofAttention = SequenceExchange::Gather;
  auto write = [&](const SequenceSites::Site &site, std::optional<int64_t> factor, const Axes &) {
    outcome.entries.push_back({&site, factor});
    if (first != sites.sites.end() && &site == &*first)
      outcome.ofAttention = factor ? SequenceExchange::AllToAll : SequenceExchange::Ring;
  };
  FailureOr<double> seconds = SequencePlacer(sites, plan, machine, reshards, totals).run(exchange, write);
  if (failed(seconds))
    return failure();
  outcome.seconds = *seconds;
  return outcome;
}

FailureOr<double> placeSequence(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine,
                                SequenceExchange exchange) {
  if (plan.withoutUnitAxes(plan.sequenceAxes).empty())
    return 0.0;
  /// The plan before any change: each op's axes are decided by it.
  plan::Plan before = plan;
  auto write = [&](const SequenceSites::Site &site, std::optional<int64_t> factor, const Axes &whole) {
    for (Operation *forward : site.alike) {
      int64_t origin = *graph::getOrigin(forward);
      auto entry = llvm::find_if(plan.ops, [&](const plan::OpPlan &op) { return op.origin == origin; });
      if (entry == plan.ops.end())
        entry = plan.ops.insert(entry, {origin, forward->getName().getStringRef().str(), {}, {}, {}});
      if (factor)
        entry->factors[*factor] = whole;
      else
        entry->ring = true;
    }
  };
  SequenceSites sites(input);
  ReshardPrices reshards(plan.mesh, secondsOfMoves(plan.mesh, machine));
  SequenceTotals totals;
  return SequencePlacer(sites, before, machine, reshards, totals).run(exchange, write);
}

FailureOr<double> placeSequence(ModuleOp module, plan::Plan &plan, const cost::Machine &machine,
                                SequenceExchange exchange) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step)
    return module.emitError("needs a function @step: run graph-differentiate first");
  return placeSequence(PlacementInput(step), plan, machine, exchange);
}

void noteGathers(ModuleOp module, const plan::Plan &plan) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step || plan.withoutUnitAxes(plan.sequenceAxes).empty())
    return;
  PlacementInput input(step);
  SequenceSites sites(input);
  Operation *first = nullptr;
  size_t count = 0;
  for (const SequenceSites::Site &site : sites.sites)
    if (whyNotRing(site.ops.front())) {
      first = first ? first : site.ops.front();
      count += site.alike.size();
    }
  if (!first)
    return;
  InFlightDiagnostic note = first->emitRemark("values of other positions are gathered: ") << *whyNotRing(first);
  if (count > 1)
    note << "; " << count - 1 << " more";
}

} // namespace dtcc::spmd
