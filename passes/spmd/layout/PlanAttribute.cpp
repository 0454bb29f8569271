//===- PlanAttribute.cpp - A plan as the attribute of a module, and back
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/layout/PlanAttribute.h"

using namespace mlir;

namespace dtcc::spmd {

// The enumerations have one order, and one letter for each action, here and there.
static_assert(int(RecomputeMode::None) == int(plan::Recompute::None) &&
              int(RecomputeMode::Selective) == int(plan::Recompute::Selective) &&
              int(RecomputeMode::Full) == int(plan::Recompute::Full));
static_assert(int(PositionOrder::Contiguous) == int(plan::SequenceOrder::Contiguous) &&
              int(PositionOrder::ZigZag) == int(plan::SequenceOrder::ZigZag));
static_assert(int(ActionKind::Forward) == int(plan::Work::Forward) &&
              int(ActionKind::InputGradient) == int(plan::Work::InputGradient) &&
              int(ActionKind::WeightGradient) == int(plan::Work::WeightGradient) &&
              int(ActionKind::Backward) == int(plan::Work::Backward));

static BoolAttr toBool(MLIRContext *context, std::optional<bool> value) {
  return value ? BoolAttr::get(context, *value) : BoolAttr();
}
static std::optional<bool> fromBool(BoolAttr value) { return value ? std::optional(value.getValue()) : std::nullopt; }
/// Null for no axes.
static ArrayAttr toOptional(MLIRContext *context, const Axes &axes) {
  return axes.empty() ? ArrayAttr() : fromAxes(context, axes);
}
static Axes fromOptional(ArrayAttr axes) { return axes ? toAxes(axes) : Axes(); }

static PipelineAttr toAttribute(MLIRContext *context, const plan::PipelinePlan &plan) {
  Builder builder(context);
  SmallVector<Attribute> ranks;
  for (const std::vector<plan::Action> &row : plan.actions.ranks) {
    SmallVector<Attribute> actions;
    for (const plan::Action &action : row)
      actions.push_back(ActionAttr::get(context, action.stage, ActionKind(action.work), action.microbatch));
    ranks.push_back(builder.getArrayAttr(actions));
  }
  bool named = !plan.schedule.empty();
  return PipelineAttr::get(context, builder.getStringAttr(plan.axis),
                           named ? builder.getStringAttr(plan.schedule) : StringAttr(),
                           named ? ArrayAttr() : builder.getArrayAttr(ranks), builder.getDenseI64ArrayAttr(plan.cuts),
                           toOptional(context, plan.devices));
}

static OpPlanAttr toAttribute(MLIRContext *context, const plan::OpPlan &plan) {
  SmallVector<SplitAttr> factors;
  for (const auto &[factor, axes] : plan.factors)
    factors.push_back(SplitAttr::get(context, factor, fromAxes(context, axes)));
  return OpPlanAttr::get(context, plan.origin, StringAttr::get(context, plan.op), factors,
                         plan.partial ? fromAxes(context, *plan.partial) : ArrayAttr(), toBool(context, plan.recompute),
                         plan.ring, toBool(context, plan.dispatch),
                         plan.capacity ? FloatAttr::get(Float64Type::get(context), *plan.capacity) : FloatAttr(),
                         plan.onHost);
}

static StatePlanAttr toAttribute(MLIRContext *context, const plan::StatePlan &plan) {
  SmallVector<Attribute> layout;
  for (const Axes &axes : plan.layout.value_or(std::vector<Axes>()))
    layout.push_back(fromAxes(context, axes));
  return StatePlanAttr::get(context, StringAttr::get(context, plan.name),
                            plan.layout ? ArrayAttr::get(context, layout) : ArrayAttr(), plan.zero);
}

PlanAttr toAttribute(MLIRContext *context, const plan::Plan &plan, FlatSymbolRefAttr mesh) {
  SmallVector<OpPlanAttr> ops;
  for (const plan::OpPlan &op : plan.ops)
    ops.push_back(toAttribute(context, op));
  SmallVector<StatePlanAttr> states;
  for (const plan::StatePlan &state : plan.states)
    states.push_back(toAttribute(context, state));
  auto narrow = plan.gradients == plan::GradientType::BF16 ? TypeAttr::get(BFloat16Type::get(context)) : TypeAttr();
  return PlanAttr::get(context, mesh, fromAxes(context, plan.batchAxes), toOptional(context, plan.sequenceAxes),
                       PositionOrder(plan.sequenceOrder), plan.sequenceParallel, plan.stationaryWeights, plan.zero,
                       fromAxes(context, plan.flatAxes), RecomputeMode(plan.recompute), plan.offload.optimizer,
                       plan.offload.activations, narrow,
                       plan.pipeline ? toAttribute(context, *plan.pipeline) : PipelineAttr(), ops, states);
}

plan::PipelinePlan toPipelinePlan(PipelineAttr attribute) {
  plan::PipelinePlan plan;
  plan.axis = attribute.getAxis().str();
  if (StringAttr schedule = attribute.getSchedule())
    plan.schedule = schedule.str();
  for (Attribute rank : attribute.getActions() ? attribute.getActions().getValue() : ArrayRef<Attribute>()) {
    std::vector<plan::Action> &actions = plan.actions.ranks.emplace_back();
    for (auto action : cast<ArrayAttr>(rank).getAsRange<ActionAttr>())
      actions.push_back({plan::Work(action.getKind()), action.getStage(), action.getMicrobatch()});
  }
  plan.cuts = std::vector<int64_t>(attribute.getCuts().asArrayRef());
  plan.devices = fromOptional(attribute.getDevices());
  return plan;
}

static plan::OpPlan toOpPlan(OpPlanAttr attribute) {
  plan::OpPlan plan;
  plan.origin = attribute.getOrigin();
  plan.op = attribute.getOp().str();
  for (SplitAttr split : attribute.getFactors())
    plan.factors[split.getFactor()] = toAxes(split.getAxes());
  if (ArrayAttr partial = attribute.getPartial())
    plan.partial = toAxes(partial);
  plan.recompute = fromBool(attribute.getRecompute());
  plan.ring = attribute.getRing();
  plan.dispatch = fromBool(attribute.getDispatch());
  if (FloatAttr capacity = attribute.getCapacity())
    plan.capacity = capacity.getValueAsDouble();
  plan.onHost = attribute.getOnHost();
  return plan;
}

static plan::StatePlan toStatePlan(StatePlanAttr attribute) {
  plan::StatePlan plan;
  plan.name = attribute.getName().str();
  if (ArrayAttr layout = attribute.getLayout()) {
    plan.layout.emplace();
    for (auto axes : layout.getAsRange<ArrayAttr>())
      plan.layout->push_back(toAxes(axes));
  }
  plan.zero = attribute.getZero();
  return plan;
}

plan::Plan toPlan(PlanAttr attribute, const Mesh &mesh) {
  plan::Plan plan;
  plan.mesh = mesh;
  plan.batchAxes = toAxes(attribute.getBatchAxes());
  plan.sequenceAxes = fromOptional(attribute.getSequenceAxes());
  plan.sequenceOrder = plan::SequenceOrder(attribute.getSequenceOrder());
  plan.sequenceParallel = attribute.getSequenceParallel();
  plan.stationaryWeights = attribute.getStationaryWeights();
  plan.zero = attribute.getZero();
  plan.flatAxes = toAxes(attribute.getFlatAxes());
  plan.recompute = plan::Recompute(attribute.getRecompute());
  plan.offload = {attribute.getOffloadOptimizer(), attribute.getOffloadActivations()};
  if (attribute.getGradients())
    plan.gradients = plan::GradientType::BF16;
  for (OpPlanAttr op : attribute.getOps())
    plan.ops.push_back(toOpPlan(op));
  for (StatePlanAttr state : attribute.getStates())
    plan.states.push_back(toStatePlan(state));
  if (PipelineAttr pipeline = attribute.getPipeline())
    plan.pipeline = toPipelinePlan(pipeline);
  return plan;
}

PlanAttr planOf(ModuleOp module) { return module->getAttrOfType<PlanAttr>(kPlanAttr); }

FailureOr<std::pair<func::FuncOp, MeshOp>> findDistributedStep(ModuleOp module) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  auto meshes = module.getOps<MeshOp>();
  if (!step || meshes.empty())
    return module.emitError("needs a distributed function @step and an spmd.mesh: run spmd-apply-plan first");
  return std::pair(step, *meshes.begin());
}

} // namespace dtcc::spmd
