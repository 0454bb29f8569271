//===- LowerToProgram.cpp - Makes the program of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass spmd-lower-to-program: one program (ProgramBuilder.h) for each stage of a pipeline, or one for all ranks.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/Passes.h"
#include "passes/spmd/layout/AssignStages.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "passes/spmd/partition/ProgramBuilder.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDLOWERTOPROGRAM
#include "passes/spmd/Passes.h.inc"

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
