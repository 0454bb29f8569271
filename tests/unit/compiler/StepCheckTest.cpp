//===- StepCheckTest.cpp - Wrong partitioned steps are found, and located
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/driver/StepCheck.h"
#include "compiler/pipeline/Pipelines.h"
#include "dialects/AllDialects.h"
#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/spmd/layout/ApplyPlan.h"
#include "llvm/Support/MemoryBuffer.h"
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
    distribute(plan::makeDefaultPlan({.dp = 2, .microbatches = 2, .zero = 1}));
  }

  void distribute(const plan::Plan &plan) {
    module = parseSourceFile<ModuleOp>(std::string(DTCC_SPMD_INPUTS) + "/mlp.mlir", &context);
    PassManager spmdPasses(&context);
    check.emplace(*module);
    EXPECT_TRUE(succeeded(spmd::applyPlan(*module, plan)));
    buildSpmdPipeline(spmdPasses, Options());
    EXPECT_TRUE(succeeded(spmdPasses.run(*module)));
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
      if (!found && op->template getParentOfType<spmd::PhaseOp>().getSymName() == "update")
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
  auto update = first<spmd::UpdateBucketOp>();
  ASSERT_TRUE(update);
  auto adam = cast<graph::AdamAttr>(update.getOptimizer());
  update.setOptimizerAttr(graph::AdamAttr::get(&context, adam.getLr() * 1.01, adam.getBeta1(), adam.getBeta2(),
                                               adam.getEps(), adam.getWeightDecay(), adam.getDecoupled()));
  std::string said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("after step 1 this state differs by"), std::string::npos) << said;
}

TEST_F(StepCheckTest, FindsAScalarThatIsNotSummed) {
  auto sum = first<spmd::AllReduceOp>();
  ASSERT_TRUE(sum);
  sum.getResult().replaceAllUsesWith(sum.getOperand());
  sum.erase();
  std::string said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("ranks must report the same"), std::string::npos) << said;
}

TEST_F(StepCheckTest, FindsAnotherNorm) {
  auto scale = first<spmd::GradScaleOp>();
  ASSERT_TRUE(scale);
  // The norm of sums over all labels, not of means.
  scale.getCountMutable().assign(scale.getSquares());
  std::string said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("in step 1 the norm of the gradients must be"), std::string::npos) << said;
}

/// Two stages of two ranks.
plan::Plan pipelinePlan(const std::string &schedule) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(DTCC_SPMD_INPUTS) + "/mlp-pipeline.json");
  auto plan = plan::parsePlan((*buffer)->getBuffer(), "mlp-pipeline.json");
  plan->pipeline->schedule = schedule;
  return *plan;
}

TEST_F(StepCheckTest, FollowsStages) {
  for (const char *schedule : {"gpipe", "1f1b", "zero-bubble"}) {
    distribute(pipelinePlan(schedule));
    std::string said = run();
    EXPECT_TRUE(good) << said;
    EXPECT_NE(said.find("verified: 2 steps on 4 ranks equal the whole step"), std::string::npos) << said;
  }
}

TEST_F(StepCheckTest, FindsStagesThatWaitForEachOther) {
  distribute(pipelinePlan("gpipe"));
  // The first stage wants gradients before it has sent what they are gradients of.
  auto first = *module->getOps<spmd::ProgramOp>().begin();
  SmallVector<PhaseRun> runs;
  for (StringRef run : {"forward 0", "backward 0", "backward 1", "forward 1", "update 0"})
    runs.push_back({StringAttr::get(&context, run.drop_back(2)), run.back() - '0'});
  first.setActionsAttr(spmd::RunsAttr::get(&context, runs));
  std::string said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("the step never ends: stage 0 waits in backward 0 for a message of stage 1 on channel 0, stage 1 "
                      "waits in forward 1 for a message of stage 0 on channel 0"),
            std::string::npos)
      << said;

  distribute(pipelinePlan("gpipe"));
  // A message more that the first stage waits for: nobody sends first.
  spmd::SendOp send;
  spmd::ReceiveOp receive;
  module->walk([&](spmd::SendOp op) { send = send ? send : op; });
  auto phase = send->getParentOfType<spmd::PhaseOp>();
  module->walk([&](spmd::ReceiveOp op) {
    if (!receive && op->getParentOfType<spmd::ProgramOp>() == phase->getParentOfType<spmd::ProgramOp>())
      receive = op;
  });
  OpBuilder builder(send);
  spmd::ReceiveOp::create(builder, send.getLoc(), receive.getY().getType(), receive.getPeer(), receive.getAxisAttr(),
                          receive.getChannel());
  said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("the step never ends: stage 0 waits in forward 0 for a message of stage 1 on channel 0, stage 1 "
                      "waits in forward 0 for a message of stage 0 on channel 0"),
            std::string::npos)
      << said;
}

TEST_F(StepCheckTest, FindsAStageMissingFromTheNorm) {
  distribute(pipelinePlan("1f1b"));
  // Only the other stage's squares are in the norm.
  module->walk([&](spmd::SumSquaresOp op) {
    OpBuilder builder(op);
    auto zero = DenseElementsAttr::get(cast<ShapedType>(op.getType()), 0.0f);
    op.replaceAllUsesWith(Value(graph::ConstantOp::create(builder, op.getLoc(), op.getType(), zero)));
    op.erase();
    return WalkResult::interrupt();
  });
  std::string said = run();
  EXPECT_FALSE(good);
  EXPECT_NE(said.find("in step 1 the norm of the gradients must be"), std::string::npos) << said;
}

} // namespace
