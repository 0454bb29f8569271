//===- PlanAttrs.cpp - The plan that a module carries out
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attribute checks what it can see by itself. Whether the axes exist is checked with the
// module, which has the mesh.
//
//===----------------------------------------------------------------------===//

#include "dialects/spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace dtcc::spmd {

using EmitError = function_ref<InFlightDiagnostic()>;

/// Checks that `names`, which may be null, is an array of strings.
static LogicalResult verifyNames(EmitError emitError, StringRef what, Attribute names) {
  auto array = dyn_cast_or_null<ArrayAttr>(names);
  if (!names || (array && llvm::all_of(array, llvm::IsaPred<StringAttr>)))
    return success();
  return emitError() << what << " must be a list of names, got: " << names;
}

static LogicalResult verifyZero(EmitError emitError, int64_t zero) {
  return zero >= 0 && zero <= 3 ? success() : emitError() << "zero must be 0, 1, 2 or 3, got: " << zero;
}

LogicalResult ActionAttr::verify(EmitError emitError, int64_t stage, ActionKind, int64_t microbatch) {
  if (stage < 0 || microbatch < 0)
    return emitError() << "an action must have a stage and a micro-batch of at least 0, got: " << stage << " and "
                       << microbatch;
  return success();
}

LogicalResult PipelineAttr::verify(EmitError emitError, StringAttr, StringAttr schedule, ArrayAttr actions,
                                   DenseI64ArrayAttr cuts, ArrayAttr devices) {
  if (bool(schedule) == bool(actions))
    return emitError() << "a pipeline must have either a schedule or actions, got: " << (schedule ? "both" : "neither");
  for (Attribute rank : actions ? actions.getValue() : ArrayRef<Attribute>())
    if (auto row = dyn_cast<ArrayAttr>(rank); !row || !llvm::all_of(row, llvm::IsaPred<ActionAttr>))
      return emitError() << "the actions of a rank must be a list of #spmd.action, got: " << rank;
  for (int64_t i = 0; i < cuts.size(); ++i)
    if (cuts[i] < (i ? cuts[i - 1] + 1 : 1))
      return emitError() << "pipeline cuts must ascend from 1, got: " << cuts[i];
  return verifyNames(emitError, "devices", devices);
}

LogicalResult SplitAttr::verify(EmitError emitError, int64_t factor, ArrayAttr axes) {
  if (factor < 0)
    return emitError() << "the index of a factor must be at least 0, got: " << factor;
  return verifyNames(emitError, "the axes of a factor", axes);
}

LogicalResult OpPlanAttr::verify(EmitError emitError, int64_t origin, StringAttr, ArrayRef<SplitAttr> factors,
                                 ArrayAttr partial, BoolAttr, bool, BoolAttr, FloatAttr, bool) {
  if (origin < 0)
    return emitError() << "origin must be at least 0, got: " << origin;
  for (size_t i = 1; i < factors.size(); ++i)
    if (factors[i].getFactor() <= factors[i - 1].getFactor())
      return emitError() << "factors must ascend, got: " << factors[i].getFactor();
  return verifyNames(emitError, "partial", partial);
}

LogicalResult StatePlanAttr::verify(EmitError emitError, StringAttr, ArrayAttr layout, std::optional<int64_t> zero) {
  for (Attribute axes : layout ? layout.getValue() : ArrayRef<Attribute>())
    if (failed(verifyNames(emitError, "a dimension of a layout", axes)))
      return failure();
  return verifyZero(emitError, zero.value_or(0));
}

LogicalResult PlanAttr::verify(EmitError emitError, FlatSymbolRefAttr, ArrayAttr batchAxes, ArrayAttr sequenceAxes,
                               PositionOrder, bool, bool, int64_t zero, ArrayAttr flatAxes, RecomputeMode, bool, bool,
                               TypeAttr gradients, PipelineAttr, ArrayRef<OpPlanAttr>, ArrayRef<StatePlanAttr>) {
  if (gradients && !gradients.getValue().isBF16())
    return emitError() << "gradients must be bf16, or left out, got: " << gradients;
  return success(succeeded(verifyZero(emitError, zero)) && succeeded(verifyNames(emitError, "batch_axes", batchAxes)) &&
                 succeeded(verifyNames(emitError, "sequence_axes", sequenceAxes)) &&
                 succeeded(verifyNames(emitError, "flat_axes", flatAxes)));
}

/// Reason why `plan` does not fit the mesh; empty if it does.
static std::string whyNotOn(const Mesh &mesh, PlanAttr plan) {
  std::string why;
  auto check = [&](const Axes &axes, const std::string &where, bool timeAllowed) {
    if (why.empty())
      why = mesh.whyNotAxes(axes, where, timeAllowed);
  };
  check(toAxes(plan.getBatchAxes()), "batch_axes", true);
  if (plan.getSequenceAxes())
    check(toAxes(plan.getSequenceAxes()), "sequence_axes", false);
  check(toAxes(plan.getFlatAxes()), "flat_axes", false);
  for (auto [i, op] : llvm::enumerate(plan.getOps())) {
    Axes all = op.getPartial() ? toAxes(op.getPartial()) : Axes();
    for (SplitAttr split : op.getFactors())
      llvm::append_range(all, toAxes(split.getAxes()));
    check(all, "ops[" + std::to_string(i) + "]", true);
  }
  for (auto [i, state] : llvm::enumerate(plan.getStates())) {
    Axes all;
    for (Attribute axes : state.getLayout() ? state.getLayout().getValue() : ArrayRef<Attribute>())
      llvm::append_range(all, toAxes(cast<ArrayAttr>(axes)));
    check(all, "states[" + std::to_string(i) + "]", false);
  }
  if (PipelineAttr pipeline = plan.getPipeline(); pipeline && why.empty())
    if (std::string axis = pipeline.getAxis().str(); !mesh.find(axis) || mesh.isTime(axis))
      why = "pipeline axis must be a rank axis of the mesh, got: \"" + axis + "\"";
  return why;
}

LogicalResult SpmdDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kPlanAttr)
    return success();
  auto plan = dyn_cast<PlanAttr>(attribute.getValue());
  auto module = dyn_cast<ModuleOp>(op);
  if (!plan || !module)
    return op->emitError("spmd.plan must be a #spmd.plan of a module, got: ") << attribute.getValue();
  auto mesh = module.lookupSymbol<MeshOp>(plan.getMesh());
  if (!mesh)
    return op->emitError("the plan needs an spmd.mesh, got: ") << plan.getMesh();
  // The module is checked before the ops in it.
  if (failed(mesh.verifyInvariants()))
    return failure();
  if (std::string why = whyNotOn(toMesh(mesh), plan); !why.empty())
    return op->emitError("the plan cannot be carried out: ") << why;
  return success();
}

} // namespace dtcc::spmd
