//===- Verify.cpp - Checks a distributed training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules, numbered as in docs/verification.md: V1 axes exist and extents divide; V2 the
// layouts of an op are projections of axes of its factors; V3 partial sums reach linear
// operands alone; V4 reshards are possible; V6 sums over padded cells see zeros; V7 states
// are read and updated as they lie.
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/Bytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/spmd/Passes.h"
#include "passes/spmd/layout/Padding.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "passes/spmd/layout/Projection.h"
#include "passes/spmd/reshard/ReshardPlanner.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDVERIFY
#include "passes/spmd/Passes.h.inc"

namespace {

class StepVerifier {
public:
  StepVerifier(ModuleOp module, func::FuncOp step, MeshOp meshOp)
      : symbols(module), step(step), meshOp(meshOp), mesh(toMesh(meshOp)), planner(mesh), padding(step) {}

  LogicalResult verify() {
    for (BlockArgument argument : step.getArguments())
      if (failed(verifyType(step, argument.getType())))
        return failure();
    for (Operation &op : step.getBody().front())
      if (failed(verifyOp(op)))
        return failure();
    return success();
  }

private:
  /// V1.
  LogicalResult verifyType(Operation *op, Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor)
      return op->emitError("must have values of !spmd.tensor alone, got: ") << type;
    if (tensor.getMesh().getAttr() != meshOp.getSymNameAttr())
      return op->emitError("must lie on the mesh @") << meshOp.getSymName() << ", got: " << tensor.getMesh();
    Layout layout = tensor.getLayout();
    for (const std::string &axis : layout.used())
      if (!mesh.find(axis))
        return op->emitError("axis must be one of the mesh, got: ") << axis << " in " << type;
    if (!localType(tensor, mesh))
      return op->emitError("padded sizes must divide by the axes that split them, got: ") << type;
    return success();
  }

  LogicalResult verifyOp(Operation &op) {
    for (Type type : op.getResultTypes())
      if (failed(verifyType(&op, type)))
        return failure();
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      ArrayRef<int64_t> shape = reshard.getType().getShape();
      if (!planner.plan(reshard.getX().getType().getLayout(), reshard.getType().getLayout(),
                        {shape.begin(), shape.end()}, getElementBytes(reshard.getType().getElementType())))
        return op.emitError("has no way between its layouts: time axes cannot be gathered, maxima cannot be made");
      return success();
    }
    for (const StateAccess &access : stateAccesses(&op))
      if (failed(verifyAccess(op, access)))
        return failure();
    // V2 and V3.
    if (auto factored = dyn_cast<FactorOpInterface>(op);
        factored && failed(inferPlacement(&op, factored.getFactorMap())))
      return failure();
    // V6, and of V7 what is trained.
    if (std::optional<std::string> why = padding.whyNotPadded(&op))
      return op.emitError(*why);
    return success();
  }

  /// V7.
  LogicalResult verifyAccess(Operation &op, const StateAccess &access) {
    auto state = symbols.lookup<graph::StateOp>(access.state);
    auto attr = state ? state->getAttrOfType<TypeAttr>(kLayoutAttr) : TypeAttr();
    if (!attr)
      return op.emitError("needs a state with an spmd.layout: @") << access.state;
    auto stored = cast<TensorType>(attr.getValue()), type = cast<TensorType>(access.value.getType());
    Layout layout = type.getLayout();
    if (layout.reduction != Reduction::Sum)
      return op.emitError("gradient must be partial as a sum, got: ") << type;
    if (access.kind == StateAccessKind::Update)
      layout.partial.clear();
    if (layout != stored.getLayout())
      return op.emitError("must lie as @") << access.state << " does, " << stored << ", got: " << type;
    return success();
  }

  SymbolTable symbols;
  func::FuncOp step;
  MeshOp meshOp;
  Mesh mesh;
  ReshardPlanner planner;
  PaddingAnalysis padding;
};

struct VerifyPass : impl::SpmdVerifyBase<VerifyPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto found = findDistributedStep(module);
    if (failed(found))
      return signalPassFailure();
    auto [step, mesh] = *found;
    // Types first: the rest reads layouts.
    bool typed = llvm::all_of(step.getArgumentTypes(), llvm::IsaPred<TensorType>);
    step.walk(
        [&](Operation *op) { typed &= op == step || llvm::all_of(op->getResultTypes(), llvm::IsaPred<TensorType>); });
    if (!typed) {
      step.emitError("must have values of !spmd.tensor alone: run spmd-apply-plan first");
      return signalPassFailure();
    }
    if (failed(StepVerifier(module, step, mesh).verify()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dtcc::spmd
