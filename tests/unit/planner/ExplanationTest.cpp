//===- ExplanationTest.cpp - Answers by hand, and against the search
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/MemoryTable.h"
#include "planner/transformer/TransformerAdvisor.h"
#include "tests/unit/planner/TransformerProblems.h"
#include "gtest/gtest.h"

using namespace dtcc;
using namespace dtcc::plan;

namespace {

TEST(Explanation, PlacesOfAxes) {
  Parallelism shape;
  EXPECT_EQ(placesOf(shape, 8), "one device");
  shape.tp = 4;
  shape.cp = 4;
  shape.dp = 16;
  shape.pp = 2;
  EXPECT_EQ(placesOf(shape, 8),
            "tp=4 inside a node; cp=4 over 2 nodes, 2 ranks in each; dp=16 over 16 nodes, a rank in each; pp=2 over 2 "
            "nodes, a rank in each");
}

/// A mesh is asked for with all that it says, experts and offload too.
TEST(Explanation, MeshesAreHeld) {
  TransformerProblem problem = problemOf("mixtral-8x7b", 32, 32, 80);
  Parallelism shape;
  shape.dp = 16;
  shape.tp = 2;
  shape.ep = 8;
  shape.zero = 1;
  Restriction restriction;
  restriction.mesh = shape;
  TransformerAdvisor advisor(problem, shapeSpaceOf(problem));
  std::optional<PlanReport> plan = advisor.best(restriction);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->shape, shape) << plan->shape.str();
  EXPECT_NE(placesOf(shape, 8).find("ep=8 among"), std::string::npos);
}

TEST(Explanation, LearningRates) {
  EXPECT_DOUBLE_EQ(linearRate(1e-3, 8), 8e-3);
  EXPECT_DOUBLE_EQ(squareRootRate(1e-3, 4), 2e-3);
}

/// A step of 8 samples takes 8 s on one device and no less than 3 s on any number of them.
class SlowAdvisor : public Advisor {
public:
  std::optional<PlanReport> best(const Restriction &restriction) override {
    PlanReport plan;
    askedForOne += restriction.devices == 1;
    plan.shape.dp = restriction.devices ? restriction.devices : 8;
    plan.parts.compute = plan.seconds = std::max(3.0, 8.0 / double(plan.shape.dp));
    plan.memory.parameters = 1 << 20;
    return plan;
  }
  int askedForOne = 0;
};

std::string answerTo(const Explanation &explanation, const std::string &question) {
  for (const Explanation::Answer &answer : explanation.answers)
    if (answer.question == question)
      return answer.answer;
  return "";
}

TEST(Explanation, SaysWhenNotToDistribute) {
  SlowAdvisor advisor;
  SearchReport report;
  report.devices = report.domain = report.batch = 8;
  report.memoryBytes = 1 << 30;
  report.sequence = 100;
  report.plans = {*advisor.best({})};
  std::vector<std::string> compared;
  Explanation explanation =
      explain(report, std::nullopt, advisor, {800e6, 2, 2, 1e-3}, [&](const char *what) { compared.push_back(what); });
  // One device is part of two answers and searched once.
  EXPECT_EQ(advisor.askedForOne, 1);
  ASSERT_FALSE(compared.empty());
  EXPECT_EQ(compared.front(), "compare kinds of parallelism");
  EXPECT_EQ(compared.back(), "compare batches");
  ASSERT_EQ(explanation.counts.size(), 4u);
  EXPECT_EQ(explanation.counts[1].devices, 2);
  EXPECT_DOUBLE_EQ(explanation.counts[1].speedup, 2);
  EXPECT_DOUBLE_EQ(explanation.counts[3].efficiency, 8.0 / 3 / 8);
  EXPECT_EQ(
      answerTo(explanation, "distribute at all?"),
      "1 device takes 8.00 s a step, 8 devices 3.00 s: 2.67 x as fast with 8 x the devices; beyond 4 devices more "
      "than half of them wait");
  EXPECT_EQ(answerTo(explanation, "does it fit?"),
            "yes, on one device: 1.00 MiB of 1.00 GiB; this plan holds 1.00 MiB on a device");
  // 8e8 tokens are 1e6 steps of 800: 3e6 s.
  EXPECT_EQ(answerTo(explanation, "what does it cost?"),
            "800 million tokens take 34.7 days, 6,667 device-hours, $13,333 at $2.00 an hour");
  EXPECT_EQ(answerTo(explanation, "learning rate?").find("for 4 x the batch of 2: 0.004 by the linear rule, 0.002 by"),
            0u);
}

/// No restriction makes a plan better; what is too large is faster, and does not fit.
TEST(Explanation, OfATransformer) {
  TransformerProblem problem = problemOf("llama2-7b", 16, 64, 40);
  ShapeSpace space = shapeSpaceOf(problem);
  TransformerPricer pricer(problem);
  SearchReport report = reportOf(problem, pricer, searchShapes(enumerateShapes(space), pricer, 100), 5);
  TransformerAdvisor advisor(problem, space);
  Explanation explanation = explain(report, std::nullopt, advisor, {});
  double best = report.plans[0].seconds;
  size_t fitting = 0;
  for (const Explanation::Kind &kind : explanation.kinds) {
    ASSERT_TRUE(kind.plan) << kind.name;
    EXPECT_FALSE(kind.reason.empty()) << kind.name;
    if (kind.plan->fits)
      EXPECT_GE(kind.plan->seconds, best * (1 - 1e-12)) << kind.name;
    else
      EXPECT_GT(report.excess(*kind.plan), 0) << kind.name;
    fitting += kind.plan->fits;
  }
  EXPECT_GE(fitting, 3u);
  // 7 B parameters in 16 bytes each on every rank do not fit 40 GiB.
  EXPECT_EQ(explanation.kinds[0].name, "data parallel");
  EXPECT_FALSE(explanation.kinds[0].plan->fits);
  for (const PlanReport &plan : explanation.tooLarge) {
    EXPECT_LT(plan.seconds, best);
    EXPECT_FALSE(plan.fits);
    EXPECT_GT(plan.memory.total(), report.memoryBytes);
  }
  // Fewer devices take longer, and as many as were asked for are the last.
  for (size_t i = 1; i < explanation.counts.size(); ++i)
    EXPECT_LT(explanation.counts[i].plan.seconds, explanation.counts[i - 1].plan.seconds);
  ASSERT_FALSE(explanation.counts.empty());
  EXPECT_EQ(explanation.counts.back().devices, 16);
  // All layers computed again need less memory and more time than none.
  Restriction restriction;
  restriction.mesh = report.plans[0].shape;
  restriction.recompute = true;
  std::optional<PlanReport> all = advisor.best(restriction);
  restriction.recompute = false;
  std::optional<PlanReport> none = advisor.best(restriction);
  EXPECT_EQ(all->recomputed(), 32u);
  EXPECT_EQ(none->recomputed(), 0u);
  EXPECT_LT(all->memory.total(), none->memory.total());
  EXPECT_GT(all->seconds, none->seconds);
}

/// The fewest devices hold the model, and half of them do not.
TEST(MemoryTable, FewestDevices) {
  TransformerProblem problem = problemOf("llama2-70b", 64, 64, 80);
  std::optional<FewestDevices> fewest = fewestDevices(problem, shapeSpaceOf(problem));
  ASSERT_TRUE(fewest);
  EXPECT_TRUE(fewest->plan.fits);
  EXPECT_EQ(fewest->plan.shape.ranks(), fewest->devices);
  problem.devices = problem.batch = fewest->devices - 8;
  TransformerPricer pricer(problem);
  EXPECT_TRUE(searchShapes(enumerateShapes(shapeSpaceOf(problem)), pricer, 1).plans.empty());
  // Sizes given for the axes hold on any number of devices.
  problem.devices = problem.batch = 64;
  ShapeSpace space = shapeSpaceOf(problem);
  space.tp = {8};
  EXPECT_EQ(fewestDevices(problem, space)->plan.shape.tp, 8);
}

/// Computed by hand: each of 8 ranks holds all parameters and gradients, and an eighth of the optimizer state's 12
/// bytes.
TEST(MemoryTable, Rows) {
  TransformerProblem problem = problemOf("gpt2-1.5b", 8, 8, 80);
  Parallelism shape;
  shape.dp = 8;
  double held =
      problem.model.layers * problem.model.layerParameters() + problem.model.vocabulary * problem.model.hidden;
  std::vector<MemoryRow> rows = tabulateMemory(problem, shape);
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[2].zero, 1);
  EXPECT_NEAR(rows[2].memory.parameters, 2 * held, 1);
  EXPECT_NEAR(rows[2].memory.gradients, 2 * held, 1);
  EXPECT_NEAR(rows[2].memory.optimizer, 12 * held / 8, 1);
  EXPECT_LT(rows[3].memory.activations, rows[2].memory.activations);
}

} // namespace
