//===- StepTest.cpp - Any plan trains the same model
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "StepFixture.h"
#include "dialects/graph/Origin.h"
#include "planner/placement/SequencePlacement.h"
#include "planner/placement/SolvePlacement.h"
#include <tuple>

using namespace dtcc;
using namespace dtcc::spmd;

namespace {

struct StepTest : StepFixture {
  /// Gives the axis to a factor of forward ops, by origin.
  static plan::Plan withTensorParallel(plan::Plan plan, mlir::func::FuncOp step,
                                       std::vector<std::pair<int64_t, int64_t>> factors) {
    for (auto [origin, factor] : factors)
      for (mlir::Operation &op : step.getBody().front())
        if (graph::getOrigin(&op) == origin && graph::getPhase(&op) == graph::Phase::Forward)
          plan.ops.push_back({origin, op.getName().getStringRef().str(), {{factor, {"tp"}}}, {}, {}, {}});
    return plan;
  }
  /// Heads, hidden units and vocabulary of gpt.mlir.
  static inline const std::vector<std::pair<int64_t, int64_t>> kMegatron = {{2, 0},  {12, 3}, {13, 3}, {14, 3}, {15, 3},
                                                                            {16, 2}, {19, 3}, {28, 2}, {29, 2}, {30, 2},
                                                                            {31, 2}, {34, 3}, {38, 2}, {40, 2}};
  /// How the keys and values of an attention whose positions are split meet its queries: gathered, in a ring, or
  /// whole for some of the heads.
  enum class Meeting { Gathered, Ring, Heads };
  /// A plan for gpt.mlir with positions over `cp`; attention is op 16.
  plan::Plan overPositions(int64_t mb, int64_t dp, int64_t cp, int64_t tp, int64_t zero, Meeting meeting) {
    plan::Plan plan = plan::makeDefaultPlan({.dp = dp, .tp = tp, .cp = cp, .microbatches = mb, .zero = int(zero)});
    if (tp > 1)
      plan = withTensorParallel(plan, step, kMegatron);
    auto attention = llvm::find_if(plan.ops, [](const plan::OpPlan &op) { return op.origin == 16; });
    if (attention == plan.ops.end())
      attention = plan.ops.insert(attention, {16, "graph.attention", {}, {}, {}});
    attention->ring = meeting == Meeting::Ring;
    if (meeting == Meeting::Heads)
      attention->factors[2].push_back("cp");
    return plan;
  }
  static constexpr Meeting kMeetings[] = {Meeting::Gathered, Meeting::Ring, Meeting::Heads};
  /// Positions between them (sequence parallelism).
  static inline const std::vector<std::pair<int64_t, int64_t>> kSequence = {
      {5, 1}, {6, 1}, {9, 1}, {20, 1}, {21, 1}, {22, 1}, {25, 1}, {35, 1}, {36, 1}, {37, 1}};
};

TEST_F(StepTest, DataParallel) {
  for (const char *file : {"mlp.mlir", "gpt.mlir"}) {
    load(file);
    for (auto [mb, dp] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 2}, {1, 8}})
      for (int zero : {0, 1, 2, 3})
        EXPECT_TRUE(compare(plan::makeDefaultPlan({.dp = dp, .microbatches = mb, .zero = int(zero)}), 9));
  }
}

// Shares over a part of the ranks that split the batch, and states of different stages side by side.
TEST_F(StepTest, HybridShards) {
  for (const char *file : {"mlp.mlir", "gpt.mlir"}) {
    load(file);
    for (int mb : {1, 2})
      for (int zero : {1, 2, 3})
        for (const Axes &flat : {Axes{"dp.1"}, Axes{"dp.0"}, Axes{"dp.0", "dp.1"}, Axes{"dp.1", "dp.0"}}) {
          plan::Plan plan = plan::makeDefaultPlan({.microbatches = mb, .zero = int(zero)});
          plan.mesh.axes = {{"mb", mb, true}, {"dp.0", 2, false}, {"dp.1", 2, false}};
          plan.batchAxes = {"mb", "dp.0", "dp.1"};
          plan.flatAxes = flat;
          EXPECT_TRUE(compare(plan, 9));
          int64_t stage = 0;
          for (auto state : whole->getOps<graph::StateOp>())
            plan.states.push_back({state.getSymName().str(), std::nullopt, stage++ % 4});
          EXPECT_TRUE(compare(plan, 9));
        }
  }
}

TEST_F(StepTest, TensorParallel) {
  load("gpt.mlir");
  // Vocabulary 13, 3 heads, 10 hidden units: all padded.
  for (auto [mb, dp, tp] : {std::tuple{1, 1, 2}, {1, 1, 4}, {2, 1, 2}, {2, 2, 2}, {1, 2, 3}})
    for (int zero : {0, 1, 2, 3})
      EXPECT_TRUE(
          compare(withTensorParallel(plan::makeDefaultPlan({.dp = dp, .tp = tp, .microbatches = mb, .zero = int(zero)}),
                                     step, kMegatron),
                  13));
}

TEST_F(StepTest, SequenceParallel) {
  load("gpt.mlir");
  std::vector<std::pair<int64_t, int64_t>> factors = kMegatron;
  factors.insert(factors.end(), kSequence.begin(), kSequence.end());
  for (auto [mb, dp, tp] : {std::tuple{1, 1, 2}, {2, 2, 2}, {2, 1, 4}})
    for (int zero : {0, 1, 2, 3})
      EXPECT_TRUE(
          compare(withTensorParallel(plan::makeDefaultPlan({.dp = dp, .tp = tp, .microbatches = mb, .zero = int(zero)}),
                                     step, factors),
                  13));
}

// Positions over an axis of their own: keys gathered, heads split in their place, or keys and values around the ranks
// and their gradients with them.
TEST_F(StepTest, ContextParallel) {
  load("gpt.mlir");
  for (auto [mb, dp, cp, tp] : {std::tuple{1, 1, 2, 1}, {1, 1, 4, 1}, {2, 2, 2, 1}, {2, 1, 2, 2}})
    for (int zero : {0, 1, 2, 3})
      for (Meeting meeting : kMeetings)
        EXPECT_TRUE(compare(overPositions(mb, dp, cp, tp, zero, meeting), 13));
}

// Ranks that hold an early and a late chunk: masks, labels and numbers of positions follow.
TEST_F(StepTest, ZigZagOrder) {
  load("gpt.mlir");
  for (auto [mb, dp, tp] : {std::tuple{1, 1, 1}, {2, 2, 1}, {2, 1, 2}})
    for (int zero : {0, 3})
      for (Meeting meeting : kMeetings) {
        plan::Plan plan = overPositions(mb, dp, 2, tp, zero, meeting);
        plan.sequenceOrder = plan::SequenceOrder::ZigZag;
        EXPECT_TRUE(compare(plan, 13));
      }
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  plan::Plan plan = plan::makeDefaultPlan({.cp = 4});
  plan.sequenceOrder = plan::SequenceOrder::ZigZag;
  EXPECT_FALSE(compare(plan, 13)); // 4 positions in 8 chunks
}

// 4 positions over 3 ranks: the last holds padding alone.
TEST_F(StepTest, PaddedPositions) {
  load("gpt.mlir");
  for (auto [mb, dp, tp] : {std::tuple{1, 1, 1}, {2, 2, 1}, {2, 1, 2}})
    for (int zero : {0, 3})
      for (Meeting meeting : kMeetings)
        EXPECT_TRUE(compare(overPositions(mb, dp, 3, tp, zero, meeting), 13));
}

TEST_F(StepTest, SequencePlacement) {
  load("gpt.mlir");
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto place = [&](int64_t cp, SequenceExchange exchange, plan::Plan &plan) {
    plan = plan::makeDefaultPlan({.cp = cp});
    return placeSequence(*whole, plan, cost::Machine::cpu(cp, 2, 0), exchange);
  };
  plan::Plan plan;
  auto seconds = place(2, SequenceExchange::Gather, plan);
  ASSERT_TRUE(mlir::succeeded(seconds));
  EXPECT_GT(*seconds, 0);
  EXPECT_TRUE(plan.ops.empty());
  ASSERT_TRUE(mlir::succeeded(place(2, SequenceExchange::Ring, plan)));
  ASSERT_EQ(plan.ops.size(), 1u);
  EXPECT_TRUE(plan.ops[0].ring);
  EXPECT_TRUE(compare(plan, 13));
  // 3 heads do not divide by 2; 4 positions are padded to 6 for 3 ranks.
  EXPECT_TRUE(mlir::failed(place(2, SequenceExchange::AllToAll, plan)));
  ASSERT_TRUE(mlir::succeeded(place(2, SequenceExchange::Cheaper, plan)));
  EXPECT_TRUE(plan.ops.empty());
  ASSERT_TRUE(mlir::succeeded(place(3, SequenceExchange::AllToAll, plan)));
  ASSERT_EQ(plan.ops.size(), 1u);
  EXPECT_EQ(plan.ops[0].factors, (std::map<int64_t, Axes>{{2, {"cp"}}}));
  EXPECT_TRUE(compare(plan, 13));
}

// No op repeats positions that it could share out: all reductions of activations are scatters.
TEST_F(StepTest, SolvedSequenceParallel) {
  load("gpt.mlir");
  for (auto [mb, dp, tp, cp] : {std::tuple{1, 1, 2, 1}, {2, 2, 2, 1}, {1, 1, 2, 2}}) {
    plan::Plan plan = plan::makeDefaultPlan({.dp = dp, .tp = tp, .cp = cp, .microbatches = mb});
    plan.sequenceParallel = true;
    ASSERT_TRUE(mlir::succeeded(solvePlacement(*whole, plan, cost::Machine::cpu(dp * tp, 2, 0), /*share=*/true)));
    // The two norms, and both sums of the residual stream.
    for (int64_t origin : {9, 22, 25, 37}) {
      const plan::OpPlan *op = plan.findOp(origin);
      ASSERT_TRUE(op) << origin << plan.toJson();
      EXPECT_EQ(op->factors, (std::map<int64_t, Axes>{{1, {"tp"}}})) << origin;
    }
    EXPECT_TRUE(compare(plan, 13));
  }
}

TEST_F(StepTest, SolvedPlans) {
  for (const char *file : {"mlp.mlir", "gpt.mlir"}) {
    load(file);
    for (auto [mb, dp, tp] : {std::tuple{1, 1, 2}, {2, 2, 2}, {1, 1, 3}, {1, 2, 4}, {2, 1, 4}}) {
      plan::Plan plan = plan::makeDefaultPlan({.dp = dp, .tp = tp, .microbatches = mb, .zero = int(tp % 2)});
      auto cost = solvePlacement(*whole, plan, cost::Machine::cpu(dp * tp, 2, 0), /*share=*/true);
      ASSERT_TRUE(mlir::succeeded(cost));
      EXPECT_TRUE(compare(plan, 9)) << plan.toJson();
    }
  }
}

plan::Plan pipelinePlan(int64_t microbatches, int64_t ranks, const std::string &schedule, std::vector<int64_t> cuts) {
  plan::Plan plan = plan::makeDefaultPlan({.microbatches = microbatches});
  plan.mesh.axes.push_back({"pp", ranks, false});
  plan.pipeline = plan::PipelinePlan{"pp", schedule, {}, std::move(cuts)};
  return plan;
}

// A value that the first stage makes and the last alone reads waits for it, and others with it.
TEST_F(StepTest, ValuesSkipStages) {
  load("skip.mlir");
  for (int64_t microbatches : {2, 4, 8})
    EXPECT_TRUE(compare(pipelinePlan(microbatches, 2, "interleaved:2", {5, 6, 7}), 4));
}

// A value that depends on a parameter alone is computed on the stage that reads it, so no other stage owns the
// parameter.
TEST_F(StepTest, StagesOwnWhatTheyRead) {
  load("mlp.mlir");
  EXPECT_TRUE(compare(pipelinePlan(1, 2, "1f1b", {2}), 9));
  EXPECT_TRUE(compare(pipelinePlan(2, 2, "zero-bubble", {2}), 9));
}

// A value that the weight gradient of another stage reads is sent with the input gradient. In this schedule the weight
// gradient of the other stage runs first, and could not wait for the sender's.
TEST_F(StepTest, StagesWaitForInputGradientsAlone) {
  using plan::Work;
  load("mlp.mlir");
  plan::Plan plan = pipelinePlan(1, 2, "", {1, 3, 5});
  plan.mesh.axes.push_back({"m", 2, false});
  plan.ops.push_back({1, "graph.broadcast", {{1, {"m"}}}, {}, {}, {}});
  plan.pipeline->actions.ranks = {
      {{Work::Forward, 0}, {Work::Forward, 3}, {Work::Backward, 3}, {Work::Backward, 0}},
      {{Work::Forward, 1},
       {Work::Forward, 2},
       {Work::InputGradient, 2},
       {Work::InputGradient, 1},
       {Work::WeightGradient, 1},
       {Work::WeightGradient, 2}},
  };
  EXPECT_TRUE(compare(plan, 9));
}

// A value that two stages of a rank read is received before either runs. The weight gradients of one stage run before
// those of the other in one micro-batch and after them in the next.
TEST_F(StepTest, StagesOfARankReceiveOnce) {
  using plan::Work;
  load("mlp.mlir");
  plan::Plan plan = pipelinePlan(2, 2, "", {1, 3});
  auto both = [](Work work, int64_t stage) { return std::vector<plan::Action>{{work, stage, 0}, {work, stage, 1}}; };
  plan.pipeline->actions.ranks.resize(2);
  auto &actions = plan.pipeline->actions.ranks[0];
  for (const auto &some : {both(Work::Forward, 0), both(Work::Forward, 1)})
    actions.insert(actions.end(), some.begin(), some.end());
  for (plan::Action action : {plan::Action{Work::InputGradient, 1, 0},
                              {Work::Backward, 0, 0},
                              {Work::WeightGradient, 1, 0},
                              {Work::InputGradient, 1, 1},
                              {Work::WeightGradient, 1, 1},
                              {Work::Backward, 0, 1}})
    actions.push_back(action);
  for (const auto &some : {both(Work::Forward, 2), both(Work::Backward, 2)})
    plan.pipeline->actions.ranks[1].insert(plan.pipeline->actions.ranks[1].end(), some.begin(), some.end());
  EXPECT_TRUE(compare(plan, 9));
}

// A parameter of two stages of a rank: what both make of its gradient is reduced when both have, at the end of a step
// or of each phase.
TEST_F(StepTest, StagesOfARankShareGradients) {
  using plan::Work;
  load("tied.mlir");
  for (int64_t zero : {0, 1, 2, 3}) {
    plan::Plan plan = plan::makeDefaultPlan({.dp = 2, .microbatches = 2, .zero = int(zero)});
    plan.mesh.axes.push_back({"pp", 2, false});
    plan.pipeline = plan::PipelinePlan{"pp", "", {}, {3, 4}};
    auto &ranks = plan.pipeline->actions.ranks;
    ranks.resize(2);
    for (int64_t m : {0, 1})
      for (auto [work, stage] : {std::pair(Work::Forward, 0),
                                 {Work::Forward, 1},
                                 {Work::Forward, 2},
                                 {Work::Backward, 2},
                                 {Work::Backward, 1},
                                 {Work::Backward, 0}})
        ranks[stage % 2].push_back({work, stage, m});
    EXPECT_TRUE(compare(plan, 6));
  }
}

} // namespace
