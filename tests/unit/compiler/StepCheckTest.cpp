//===- StepCheckTest.cpp - Wrong partitioned steps are found, and located
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/StepCheck.h"
#include "compiler/Pipelines.h"
#include "dialects/AllDialects.h"
#include "dialects/dist/Dist.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/dist/ApplyPlan.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dtcc;

namespace {

struct StepCheckTest : testing::Test {
  StepCheckTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceFile<ModuleOp>(std::string(DTCC_DIST_INPUTS) + "/mlp.mlir", &context);
    PassManager distPasses(&context);
    check.emplace(*module);
    EXPECT_TRUE(succeeded(dist::applyPlan(*module, plan::makeDefaultPlan(2, 2, 1, 1))));
    buildDistPipeline(distPasses, Options());
    EXPECT_TRUE(succeeded(distPasses.run(*module)));
  }

  /// The message of the check, or what it says of a step that is right.
  std::string run() {
    std::string said;
    ScopedDiagnosticHandler keep(&context, [&](Diagnostic &diagnostic) {
      said += diagnostic.str();
      return success();
    });
    llvm::raw_string_ostream stream(said);
    good = succeeded(check->run(*module, 2, stream));
    return said;
  }

  /// The first op of a kind, in the update.
  template <typename Op> Op first() {
    Op found;
    module->walk([&](Op op) {
      if (!found && op->template getParentOfType<dist::PhaseOp>().getSymName() == "update")
        found = op;
    });
    return found;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  std::optional<StepCheck> check;
  bool good = false;
};

TEST_F(StepCheckTest, SaysHowNear) {
  std::string said = run();
  EXPECT_TRUE(good) << said;
  EXPECT_NE(said.find("verified: 2 steps on 2 ranks equal the whole step"), std::string::npos) << said;
}

TEST_F(StepCheckTest, NamesTheStateThatAnotherUpdateChanges) {
  auto update = first<dist::UpdateBucketOp>();
  ASSERT_TRUE(update);
  auto adam = cast<graph::AdamAttr>(update.getOptimizer());
  update.setOptimizerAttr(graph::AdamAttr::get(&context, adam.getLr() * 1.01, adam.getBeta1(), adam.getBeta2(),
                                               adam.getEps(), adam.getWeightDecay(), adam.getDecoupled()));
  std::string said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("after step 1 this state differs by"), std::string::npos) << said;
}

TEST_F(StepCheckTest, FindsAScalarThatIsNotSummed) {
  auto sum = first<dist::AllReduceOp>();
  ASSERT_TRUE(sum);
  sum.getResult().replaceAllUsesWith(sum.getOperand());
  sum.erase();
  std::string said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("ranks must report the same"), std::string::npos) << said;
}

TEST_F(StepCheckTest, FindsAnotherNorm) {
  auto scale = first<dist::GradScaleOp>();
  ASSERT_TRUE(scale);
  // The norm of sums over all labels, not of means.
  scale.getCountMutable().assign(scale.getSquares());
  std::string said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("in step 1 the norm of the gradients must be"), std::string::npos) << said;
}

} // namespace
