//===- SearchMesh.cpp - Which mesh and which ZeRO stage
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/SearchMesh.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/dist/OrderPositions.h"
#include "passes/dist/PriceRecompute.h"
#include "passes/dist/PriceStages.h"

using namespace mlir;

namespace dtcc::dist {

/// The global batch: the first dimension of the inputs.
static int64_t batchOf(func::FuncOp step) {
  for (Type type : step.getArgumentTypes())
    if (auto shaped = cast<ShapedType>(type); shaped.getRank() > 0)
      return shaped.getDimSize(0);
  return 1;
}

static int64_t slotsOf(func::FuncOp step) {
  int64_t slots = 0;
  step.walk([&](graph::UpdateOp update) {
    slots = cast<graph::OptimizerAttrInterface>(update.getOptimizer()).getSlotNames().size();
  });
  return slots;
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
  return any ? success() : step.emitError("sequence parallelism needs inputs of tokens: this model has no positions");
}

/// The order of positions for a mesh.
static plan::SequenceOrder orderOf(func::FuncOp step, const MeshRequest &request, int64_t tp) {
  bool ring = request.exchange == SequenceExchange::Ring && request.cp > 1 && hasCausalAttention(step);
  return request.order.value_or(ring && !whyNotZigZag(step, request.cp, request.sequenceParallel ? tp : 1)
                                    ? plan::SequenceOrder::ZigZag
                                    : plan::SequenceOrder::Contiguous);
}

/// Prices one mesh with its best placement, for each ZeRO stage.
static LogicalResult price(ModuleOp module, func::FuncOp step, int64_t dp, int64_t tp, const MeshRequest &request,
                           const cost::Machine &machine, ArrayRef<RecomputeEffect> effects,
                           std::vector<PricedPlan> &plans) {
  plan::Plan base = plan::makeDefaultPlan(request.microbatches, dp, tp, 0, request.groups, request.cp);
  addExpertAxis(base, request.ep);
  base.sequenceParallel = request.sequenceParallel && tp > 1;
  if (base.sequenceParallel && failed(checkSequenceParallel(step, tp)))
    return failure();
  // Ranks of `ep` and `cp` are replicas, but those of `ep` not of experts.
  int64_t sharing = dp / request.groups * request.ep * request.cp;
  FailureOr<PlacementCost> placed = solvePlacement(module, base, machine, request.tp.has_value());
  if (failed(placed))
    return failure();
  FailureOr<double> toExperts = placeExperts(step, base, machine, request.experts);
  if (failed(toExperts))
    return failure();
  placed->seconds += *toExperts;
  FailureOr<double> exchanged = placeSequence(module, base, machine, request.exchange);
  if (failed(exchanged))
    return failure();
  placed->seconds += *exchanged;
  // Ranks that all do the same are nobody's plan, though it may be the fastest for a tiny model.
  if (!request.tp && tp > 1 && llvm::none_of(base.ops, [](const plan::OpPlan &op) {
        return llvm::any_of(op.factors, [](const auto &factor) { return contains(factor.second, "tp"); });
      }))
    return success();
  UnitSizes units = unitSizes(module, step);
  for (int64_t zero = 0; zero <= kLastStage; ++zero) {
    if ((request.zero && *request.zero != zero) || (!request.zero && zero > 0 && sharing == 1))
      continue;
    PricedPlan priced;
    priced.plan = plan::makeDefaultPlan(request.microbatches, dp, tp, zero, request.groups, request.cp);
    addExpertAxis(priced.plan, request.ep);
    priced.plan.ops = base.ops;
    if (request.cp > 1)
      priced.plan.sequenceOrder = orderOf(step, request, tp);
    priced.plan.states = base.states;
    priced.plan.sequenceParallel = base.sequenceParallel;
    priced.dp = dp;
    priced.tp = tp;
    priced.zero = zero;
    double summed = 0;
    auto share = [&](double parameters, double gradients, int64_t ranks) {
      StagePrice stage =
          priceStage(zero, parameters, gradients, slotsOf(step), ranks, request.microbatches, units, machine);
      priced.parameterBytes += stage.bytes.parameters;
      priced.gradientBytes += stage.bytes.gradients;
      priced.slotBytes += stage.bytes.slots;
      priced.gradientSeconds += stage.seconds;
      summed += gradients / (stateRow(zero).master ? double(ranks) : 1);
    };
    double experts = placed->expertParameterBytes, ofExperts = placed->expertGradientBytes;
    share(placed->parameterBytes - experts, placed->gradientBytes - ofExperts, sharing);
    if (experts > 0)
      share(experts, ofExperts, sharing / request.ep);
    // Between groups, what a rank has of the gradients is summed once a step.
    double between = double(request.groups - 1) / double(request.groups);
    priced.gradientSeconds += machine.secondsForTransfer(2 * between * summed);
    // The placement counted a whole update on every rank.
    priced.placementSeconds = placed->seconds - machine.secondsForWork(0, 7 * (placed->gradientBytes - summed));
    for (const RecomputeEffect &effect : effects) {
      priced.plan.recompute = effect.mode;
      priced.activationBytes = placed->activationBytes * effect.bytes;
      priced.recomputeSeconds = placed->seconds * (effect.work - 1);
      priced.fits = machine.memoryBytes == 0 || priced.bytes() <= machine.memoryBytes;
      if (priced.fits)
        break;
    }
    plans.push_back(std::move(priced));
  }
  return success();
}

FailureOr<std::vector<PricedPlan>> searchMesh(ModuleOp module, const MeshRequest &request,
                                              const cost::Machine &machine) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step)
    return module.emitError("needs a function @step: run graph-differentiate first");
  int64_t batch = batchOf(step);
  std::vector<PricedPlan> plans;
  SmallVector<RecomputeEffect> effects = recomputeEffects(step, request.recompute);
  for (int64_t tp = 1; tp <= machine.ranks; ++tp) {
    int64_t dp = machine.ranks / tp / request.ep / request.cp;
    if (machine.ranks % (tp * request.ep * request.cp) || (request.tp && *request.tp != tp) ||
        (request.dp && *request.dp != dp) || request.microbatches > batch ||
        batch % (dp * request.ep * request.microbatches))
      continue;
    if (failed(price(module, step, dp, tp, request, machine, effects, plans)))
      return failure();
  }
  if (plans.empty()) {
    if (request.microbatches > batch)
      return step.emitError("a batch of ")
             << batch << " examples must have one for each micro-batch, got: " << request.microbatches
             << " micro-batches";
    // Any number of tensor-parallel ranks would do: what does not divide is what is given.
    int64_t dp = request.dp.value_or(request.tp ? machine.ranks / *request.tp / request.ep / request.cp : 1);
    InFlightDiagnostic error = step.emitError("a batch of ") << batch << " examples must divide";
    if (dp > 1)
      error << " into dp=" << dp << " parts";
    if (request.ep > 1)
      error << (dp > 1 ? " of ep=" : " into ep=") << request.ep << " parts";
    if (request.microbatches > 1)
      error << (dp * request.ep > 1 ? " of " : " into ") << request.microbatches << " micro-batches";
    error << ": bind a batch that is a multiple of " << dp * request.ep * request.microbatches
          << ", or choose another mesh";
    return failure();
  }
  std::sort(plans.begin(), plans.end(), [](const PricedPlan &a, const PricedPlan &b) {
    if (a.fits != b.fits)
      return a.fits;
    if (a.seconds() != b.seconds())
      return a.seconds() < b.seconds();
    return a.bytes() < b.bytes();
  });
  return plans;
}

} // namespace dtcc::dist
