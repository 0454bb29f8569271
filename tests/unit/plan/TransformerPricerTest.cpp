//===- TransformerPricerTest.cpp - What the search says of a transformer against the cost model
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/TransformerPricer.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace dtcc;
using namespace dtcc::plan;

namespace {

TransformerProblem problemOf(const char *model, int64_t devices, int64_t batch) {
  TransformerProblem problem;
  std::string error;
  problem.model = *cost::parseTransformer(model, error);
  problem.device = *cost::findDevice("a100-80");
  problem.fabric = cost::fabricOf(problem.device);
  problem.software = cost::softwareOf(cost::Framework::NeMo);
  problem.run.attention = problem.software.attention;
  problem.devices = devices;
  problem.batch = batch;
  return problem;
}

TEST(TransformerPricer, BoundsHoldAndTheModelsAgree) {
  TransformerProblem given = problemOf("gpt2-1.5b", 16, 32);
  TransformerPricer pricer(given);
  size_t solved = 0;
  for (const PlanShape &shape : enumerateShapes(shapeSpaceOf(given))) {
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
    EXPECT_LT(finer, 1.6 * solution.seconds) << shape.str();
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

/// More memory than the layers need: nothing is computed again; a little less: some is.
TEST(TransformerPricer, RecomputesAsMuchAsMemoryAsks) {
  TransformerProblem given = problemOf("llama2-7b", 8, 8);
  PlanShape shape;
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
