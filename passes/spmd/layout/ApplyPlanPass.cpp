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
    int64_t sizes[4] = {1, 1, 1, 1};
    const StringRef names[4] = {"mb", "dp", "tp", "cp"};
    for (StringRef part : llvm::split(mesh, ',')) {
      if (part.empty())
        continue;
      auto [name, text] = part.split('=');
      auto at = llvm::find(names, name);
      int64_t size = 0;
      if (at == std::end(names) || text.getAsInteger(10, size) || size < 1) {
        getOperation().emitError("mesh must be sizes of mb, dp, tp and cp, as \"mb=2,dp=2\", got: ") << part;
        return std::nullopt;
      }
      sizes[at - names] = size;
    }
    plan::Plan plan = plan::makeDefaultPlan(sizes[0], sizes[1], sizes[2], zero, 1, sizes[3]);
    plan.offload.optimizer = offload;
    return plan;
  }

  void runOnOperation() override {
    std::optional<plan::Plan> plan = makePlan();
    if (!plan || failed(applyPlan(getOperation(), *plan)))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::spmd
