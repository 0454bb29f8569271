//===- PlanAttributeTest.cpp - A plan survives as the attribute of a module
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value of each field of a plan reaches the image of the program through the attribute, and
// through its text, where a module is written and read again. Each case sets what the other
// cases leave out.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/layout/PlanAttribute.h"
#include "dialects/AllDialects.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::spmd;

namespace {

struct PlanAttributeTest : testing::Test {
  PlanAttributeTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    plan.mesh.axes = {{"mb", 4, true}, {"pp", 2}, {"dp", 1}, {"tp", 2}};
    plan.batchAxes = {"mb", "dp"};
  }

  /// Expects that the plan, as an attribute and as text, comes back as it was.
  void expectKept() {
    PlanAttr attribute = toAttribute(&context, plan, FlatSymbolRefAttr::get(&context, "mesh"));
    EXPECT_EQ(toPlan(attribute, plan.mesh), plan) << plan.toJson();
    std::string text;
    llvm::raw_string_ostream(text) << attribute;
    EXPECT_EQ(parseAttribute(text, &context), attribute) << text;
    EXPECT_EQ(toPlan(attribute, plan.mesh).toJson(0), plan.toJson(0));
  }

  MLIRContext context;
  plan::Plan plan;
};

TEST_F(PlanAttributeTest, NothingSaid) { expectKept(); }

TEST_F(PlanAttributeTest, Step) {
  plan.sequenceAxes = {"tp"};
  plan.sequenceOrder = plan::SequenceOrder::ZigZag;
  plan.sequenceParallel = plan.stationaryWeights = true;
  plan.zero = 3;
  plan.flatAxes = {"dp"};
  for (plan::Recompute mode : {plan::Recompute::None, plan::Recompute::Selective, plan::Recompute::Full})
    for (bool optimizer : {false, true})
      for (bool activations : {false, true}) {
        plan.recompute = mode;
        plan.offload = {optimizer, activations};
        expectKept();
      }
}

TEST_F(PlanAttributeTest, Ops) {
  plan.offload.activations = true;
  plan.ops.resize(5);
  for (auto [i, op] : llvm::enumerate(plan.ops)) {
    op.origin = int64_t(i) * 3;
    op.op = "graph.contract";
  }
  plan.ops[0].factors = {{0, {"mb", "dp"}}, {3, {}}};
  plan.ops[1].partial = Axes();
  plan.ops[1].recompute = true;
  plan.ops[2].partial = {"tp"};
  plan.ops[2].recompute = false;
  plan.ops[2].ring = true;
  plan.ops[3].dispatch = true;
  plan.ops[3].capacity = 1.25;
  plan.ops[3].onHost = true;
  plan.ops[4].dispatch = false;
  expectKept();
}

TEST_F(PlanAttributeTest, States) {
  plan.states = {{"scalar", std::vector<Axes>(), std::nullopt},
                 {"with \"quotes\"", std::vector<Axes>{{}, {"tp"}}, 0},
                 {"other", std::nullopt, 3}};
  expectKept();
}

TEST_F(PlanAttributeTest, Pipeline) {
  plan.pipeline.emplace();
  plan.pipeline->axis = "pp";
  plan.pipeline->schedule = "interleaved:2";
  plan.pipeline->cuts = {2, 5, 9};
  plan.pipeline->devices = {"h100-sxm", "a100-80"};
  expectKept();
}

TEST_F(PlanAttributeTest, Actions) {
  for (const char *name : {"gpipe", "1f1b", "zero-bubble"}) {
    plan.pipeline.emplace();
    plan.pipeline->axis = "pp";
    plan.pipeline->cuts = {2};
    plan.pipeline->actions = llvm::cantFail(plan::makeSchedule(name, 2, 4));
    EXPECT_FALSE(llvm::errorToBool(plan.check())) << name;
    expectKept();
  }
}

} // namespace
