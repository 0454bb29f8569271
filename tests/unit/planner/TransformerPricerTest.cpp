//===- TransformerPricerTest.cpp - What the search says of a transformer against the cost model
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/TransformerPricer.h"
#include "tests/unit/planner/TransformerProblems.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace dtcc;
using namespace dtcc::plan;

namespace {

TEST(TransformerPricer, BoundsHoldAndTheModelsAgree) {
  TransformerProblem given = problemOf("gpt2-1.5b", 16, 32);
  TransformerPricer pricer(given);
  size_t solved = 0;
  for (const Parallelism &shape : enumerateShapes(shapeSpaceOf(given))) {
    StageProblem problem = pricer.problem(shape);
    ASSERT_EQ(problem.check(), "") << shape.str();
    StageSolution solution = solve(problem);
    double bound = pricer.bound(shape);
    if (solution.isInfeasible())
      continue;
    ++solved;
    ASSERT_LE(bound, solution.seconds * (1 + 1e-9)) << shape.str();
    // The finer model adds what does not add up by layers: stragglers, the host's share of a step.
    double finer = pricer.price(shape, solution).total();
    EXPECT_GT(finer, 0.9 * solution.seconds) << shape.str();
    EXPECT_LT(finer, 1.7 * solution.seconds) << shape.str();
  }
  EXPECT_GT(solved, 200u);
}

/// The finer model never says less than the simulation; for most plans it is what the formulas say.
TEST(TransformerPricer, SimulatesItsPlans) {
  TransformerProblem given = problemOf("gpt3-175b", 512, 512);
  TransformerPricer pricer(given);
  ShapeResult result = searchShapes(enumerateShapes(shapeSpaceOf(given)), pricer, 50);
  ASSERT_EQ(result.plans.size(), 50u);
  for (const ShapePlan &plan : result.plans) {
    std::optional<cost::StepTimeline> timeline = pricer.timeline(plan.shape, plan.stages, /*record=*/false);
    ASSERT_TRUE(timeline);
    EXPECT_LE(timeline->seconds, plan.seconds * (1 + 1e-9)) << plan.shape.str();
    EXPECT_GT(timeline->seconds, 0.9 * plan.seconds) << plan.shape.str();
  }
  const ShapePlan &best = result.plans[0];
  cost::StepTimeline timeline = *pricer.timeline(best.shape, best.stages);
  EXPECT_EQ(timeline.ranks, best.shape.pp);
  ASSERT_FALSE(timeline.events.empty());
  for (const cost::TimelineEvent &event : timeline.events)
    EXPECT_LE(event.end, timeline.seconds * (1 + 1e-9));
}

/// Leading dense layers, experts over ep, and what bounds say of them.
TEST(TransformerPricer, Experts) {
  TransformerProblem given =
      problemOf("layers=6,hidden=1024,heads=8,experts=16,chosen=2,expert-ffn=1024,leading-dense=2,"
                "gated=1,vocabulary=32000,sequence=1024",
                8, 32);
  TransformerPricer pricer(given);
  ShapeSpace space = shapeSpaceOf(given);
  EXPECT_EQ(space.ep, (std::vector<int64_t>{1, 2, 4, 8}));
  int64_t spread = 0;
  for (const Parallelism &shape : enumerateShapes(space)) {
    StageProblem problem = pricer.problem(shape);
    ASSERT_EQ(problem.check(), "") << shape.str();
    ASSERT_EQ(problem.blocks, (std::vector<uint32_t>{1, 3, 3, 0, 0, 0, 0, 2}));
    StageSolution solution = solve(problem);
    ASSERT_FALSE(solution.isInfeasible()) << shape.str();
    ASSERT_LE(pricer.bound(shape), solution.seconds * (1 + 1e-9)) << shape.str();
    EXPECT_GT(pricer.price(shape, solution).total(), 0.9 * solution.seconds) << shape.str();
    spread += shape.ep > 1;
  }
  EXPECT_GT(spread, 100);
  // Experts on all ranks: an eighth of their state on each.
  Parallelism shape;
  shape.dp = 8;
  double whole = pricer.problem(shape).types[0].stateBytes;
  shape.ep = 8;
  EXPECT_LT(pricer.problem(shape).types[0].stateBytes, 0.3 * whole);
}

/// A host with memory takes the optimizer's state and activations where a device has too little.
TEST(TransformerPricer, OffloadsWhatDoesNotFit) {
  TransformerProblem given = problemOf("llama2-7b", 4, 4);
  given.device.memoryBytes = 40e9;
  EXPECT_EQ(shapeSpaceOf(given).hostOptimizer, std::vector<bool>{false});
  Parallelism shape;
  shape.dp = 4;
  shape.zero = 1;
  shape.offload.optimizer = true;
  EXPECT_TRUE(solve(TransformerPricer(given).problem(shape)).isInfeasible());
  given.host = {200e9, 0, 0};
  EXPECT_EQ(shapeSpaceOf(given).hostOptimizer, (std::vector<bool>{false, true}));
  TransformerPricer pricer(given);
  shape.offload.optimizer = false;
  EXPECT_TRUE(solve(pricer.problem(shape)).isInfeasible());
  shape.offload.optimizer = true;
  StageSolution solution = solve(pricer.problem(shape));
  ASSERT_FALSE(solution.isInfeasible());
  EXPECT_EQ(shape.str(), "dp=4 zero=1 microbatches=1 offload=optimizer");
  // More than the host holds needs NVMe.
  given.host.memoryBytes = 1e9;
  EXPECT_TRUE(solve(TransformerPricer(given).problem(shape)).isInfeasible());
  given.host.nvmeBytes = 1e12;
  given.host.nvmeBytesPerSecond = 1e9;
  TransformerPricer onNvme(given);
  StageSolution slow = solve(onNvme.problem(shape));
  ASSERT_FALSE(slow.isInfeasible());
  EXPECT_GT(slow.seconds, solution.seconds + 10);
  EXPECT_EQ(onNvme.offloaded(slow), 0);
  // Activations: with slow recomputation and a fast link they wait with the host.
  given = problemOf("llama2-7b", 8, 32);
  given.host = {1e12, 0, 0};
  given.device.memoryBytes = 32e9;
  given.device.hostLink.bytesPerSecond = 1e12;
  shape = {};
  shape.dp = 8;
  shape.zero = 3;
  StageSolution moved = solve(TransformerPricer(given).problem(shape));
  ASSERT_FALSE(moved.isInfeasible());
  EXPECT_GT(TransformerPricer(given).offloaded(moved), 0);
  given.mayOffloadActivations = false;
  EXPECT_EQ(TransformerPricer(given).offloaded(solve(TransformerPricer(given).problem(shape))), 0);
}

/// Attention made of products and softmax keeps its scores, or computes them again (Korthikanti 2022).
TEST(TransformerPricer, RecomputesTheCoreOfAttentionAlone) {
  TransformerProblem given = problemOf("gpt3-175b", 64, 64);
  given.run.attention = cost::AttentionKernel::Plain;
  given.device.memoryBytes = 64e9;
  Parallelism shape;
  shape.tp = 8;
  shape.pp = 8;
  shape.microbatches = 64;
  shape.schedule = PipelineKind::OneForwardOneBackward;
  TransformerPricer pricer(given);
  StageSolution solution = solve(pricer.problem(shape));
  ASSERT_FALSE(solution.isInfeasible());
  constexpr uint32_t core = 2;
  EXPECT_GT(std::count(solution.modes.begin() + 1, solution.modes.end() - 1, core), 0);
  EXPECT_LT(pricer.recomputed(solution), 96);
}

/// A node of H100 and one of A100: a stage lies on one kind, and the faster has more of the layers.
TEST(TransformerPricer, MixedDevices) {
  TransformerProblem given = problemOf("layers=6,hidden=4096,heads=32,vocabulary=32000,sequence=2048", 16, 64);
  const cost::Device &fast = *cost::findDevice("h100"), &slow = *cost::findDevice("a100-80");
  given.device = fast;
  given.kinds = {{fast, cost::fabricOf(fast), {}, 8}, {slow, cost::fabricOf(slow), {}, 8}};
  TransformerPricer pricer(given);
  size_t mixed = 0;
  for (const Parallelism &shape : enumerateShapes(shapeSpaceOf(given))) {
    EXPECT_LE(shape.tp * shape.cp * shape.dp, 8) << shape.str();
    if (shape.pp > 4 || shape.microbatches != 8)
      continue;
    StageProblem problem = pricer.problem(shape);
    ASSERT_EQ(problem.check(), "") << shape.str();
    StageSolution solution = solve(problem);
    // Few blocks: every cut on every kind, with two of the modes each block has.
    StageProblem small = problem;
    for (BlockType &type : small.types)
      for (auto &modes : type.modes)
        modes.resize(std::min<size_t>(modes.size(), 2));
    small.types[1].modes = problem.types[1].modes;
    StageSolution found = solve(small), all = solveExhaustively(small);
    ASSERT_EQ(found.isInfeasible(), all.isInfeasible()) << shape.str();
    if (solution.isInfeasible())
      continue;
    ASSERT_NEAR(found.seconds, all.seconds, 1e-9 * all.seconds) << shape.str();
    ASSERT_LE(pricer.bound(shape), solution.seconds * (1 + 1e-9)) << shape.str();
    ASSERT_GT(pricer.price(shape, solution).total(), 0.5 * solution.seconds) << shape.str();
    if (shape.pp != 2 || shape.ranks() != 16)
      continue;
    ++mixed;
    size_t first = solution.stages[1].firstBlock - 1, second = 6 - first;
    bool fastFirst = solution.stages[0].deviceClass == 0;
    EXPECT_NE(solution.stages[0].deviceClass, solution.stages[1].deviceClass);
    EXPECT_GT(fastFirst ? first : second, fastFirst ? second : first) << shape.str();
    std::optional<cost::StepTimeline> timeline = pricer.timeline(shape, solution, /*record=*/false);
    ASSERT_TRUE(timeline);
    EXPECT_NEAR(timeline->seconds / solution.seconds, 1, 0.25) << shape.str();
  }
  EXPECT_GT(mixed, 5u);
}

/// More memory than the layers need: nothing is computed again; a little less: some is.
TEST(TransformerPricer, RecomputesAsMuchAsMemoryAsks) {
  TransformerProblem given = problemOf("llama2-7b", 8, 8);
  Parallelism shape;
  shape.dp = 8;
  shape.zero = 3;
  int64_t before = -1;
  for (double gib : {400.0, 40.0, 30.0, 24.0}) {
    given.device.memoryBytes = gib * (1 << 30);
    TransformerPricer pricer(given);
    StageSolution solution = solve(pricer.problem(shape));
    ASSERT_FALSE(solution.isInfeasible()) << gib;
    int64_t layers = pricer.recomputed(solution);
    EXPECT_GE(layers, before) << gib;
    if (gib == 400)
      EXPECT_EQ(layers, 0);
    before = layers;
  }
  EXPECT_GT(before, 0);
}

} // namespace
