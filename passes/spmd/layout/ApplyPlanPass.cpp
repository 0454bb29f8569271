//===- ApplyPlanPass.cpp - The pass spmd-apply-plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/Passes.h"
#include "passes/spmd/layout/ApplyPlan.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDAPPLYPLAN
#include "passes/spmd/Passes.h.inc"

namespace {
struct ApplyPlanPass : impl::SpmdApplyPlanBase<ApplyPlanPass> {
  using SpmdApplyPlanBase::SpmdApplyPlanBase;

  /// The plan of the options; a message and nothing if they are wrong.
  std::optional<plan::Plan> makePlan() {
    if (!planFile.empty()) {
      llvm::Expected<plan::Plan> plan = plan::readPlan(planFile);
      if (!plan) {
        getOperation().emitError(llvm::toString(plan.takeError()));
        return std::nullopt;
      }
      return *plan;
    }
    std::string error;
    std::optional<plan::Parallelism> asked = plan::parseParallelism(parallelism.getValue(), error);
    if (asked && asked->pp * asked->ep > 1)
      error = "stages and experts must be placed by a plan, got: " + parallelism.getValue();
    if (error.empty())
      return plan::makeDefaultPlan(*asked);
    getOperation().emitError(error);
    return std::nullopt;
  }

  void runOnOperation() override {
    std::optional<plan::Plan> plan = makePlan();
    if (!plan || failed(applyPlan(getOperation(), *plan)))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::spmd
