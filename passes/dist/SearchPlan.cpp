//===- SearchPlan.cpp - Search the best plan and apply it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/dist/Dist.h"
#include "passes/dist/ApplyPlan.h"
#include "passes/dist/Passes.h"
#include "passes/dist/SearchMesh.h"

namespace dtcc::dist {
#define GEN_PASS_DEF_DISTSEARCHPLAN
#include "passes/dist/Passes.h.inc"
} // namespace dtcc::dist

using namespace mlir;

namespace dtcc::dist {
namespace {

struct DistSearchPlan : impl::DistSearchPlanBase<DistSearchPlan> {
  using DistSearchPlanBase::DistSearchPlanBase;
  void runOnOperation() override {
    MeshRequest request;
    auto given = [](int64_t value) { return value < 0 ? std::nullopt : std::optional(value); };
    request.dp = given(dp);
    request.tp = given(tp);
    request.ep = ep;
    request.zero = given(zero);
    request.microbatches = microbatches;
    auto plans = searchMesh(getOperation(), request, cost::Machine::cpu(ranks, cores, memory));
    if (failed(plans) || failed(applyPlan(getOperation(), plans->front().plan)))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::dist
