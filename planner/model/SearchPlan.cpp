//===- SearchPlan.cpp - Search the best plan and apply it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Spmd.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/spmd/layout/ApplyPlan.h"
#include "planner/model/GraphPricer.h"
#include "planner/model/Passes.h"

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDSEARCHPLAN
#include "planner/model/Passes.h.inc"
} // namespace dtcc::spmd

using namespace mlir;

namespace dtcc::spmd {
namespace {

struct SpmdSearchPlan : impl::SpmdSearchPlanBase<SpmdSearchPlan> {
  using SpmdSearchPlanBase::SpmdSearchPlanBase;
  void runOnOperation() override {
    func::FuncOp step = graph::findStep(getOperation());
    if (!step)
      return signalPassFailure();
    GraphRequest request;
    request.share = tp > 0;
    GraphPricer pricer(step, cost::Machine::cpu(ranks, cores, memory), request);
    plan::ShapeSpace space = pricer.space();
    space.cp = space.pp = {1};
    space.ep = {ep};
    space.sequenceParallel = {false};
    space.stationaryWeights = {false};
    if (tp > 0)
      space.tp = {tp};
    if (zero >= 0)
      space.zero = {int(zero)};
    space.microbatches = microbatches;
    plan::ShapeList shapes = plan::enumerateShapes(space);
    shapes.eraseIf([&](const plan::Parallelism &shape) { return dp > 0 && shape.dp != dp * ep; });
    if (shapes.empty()) {
      (void)refuseBatch(step, space.batch, std::max<int64_t>(dp, 1), ep, microbatches);
      return signalPassFailure();
    }
    plan::ShapeResult found = plan::searchShapes(shapes, pricer, 1);
    if (found.plans.empty()) {
      if (pricer.placements().hasRefusal())
        (void)pricer.placements().emitRefusal();
      else
        step.emitError("has no plan that fits the memory of ") << ranks << " ranks";
      return signalPassFailure();
    }
    plan::Plan best = pricer.write(found.plans[0].shape, found.plans[0].stages);
    if (failed(applyPlan(getOperation(), best)))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::spmd
