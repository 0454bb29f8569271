//===- SearchReportTest.cpp - Reasons by hand
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/TransformerReport.h"
#include "runtime/abi/console/AmountText.h"
#include "tests/unit/planner/TransformerProblems.h"
#include "gtest/gtest.h"

using namespace dtcc;
using namespace dtcc::plan;

namespace {

PlanReport planOf(const Parallelism &shape, const cost::StepSeconds &parts) {
  PlanReport report;
  report.shape = shape;
  report.parts = parts;
  report.seconds = parts.total();
  report.memory.activations = 1 << 30;
  return report;
}

SearchReport reportOn(int64_t domain) {
  SearchReport report;
  report.devices = 64;
  report.domain = domain;
  report.batch = 64;
  report.memoryBytes = 8.0 * (1 << 30);
  return report;
}

TEST(AmountText, ThreeDigits) {
  EXPECT_EQ(formatBytes(512), "512 B");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(32.52 * (1 << 30)), "32.5 GiB");
  EXPECT_EQ(formatBytes(325.2 * (1 << 30)), "325 GiB");
  EXPECT_EQ(formatSeconds(12.34e-6), "12.3 us");
  EXPECT_EQ(formatSeconds(3.1e-3), "3.10 ms");
  EXPECT_EQ(formatSeconds(0.4), "0.400 s");
  EXPECT_EQ(formatSeconds(71.49), "71.5 s");
  EXPECT_EQ(formatLarge(15.6e12), "15.6 trillion");
  EXPECT_EQ(formatLarge(1e9), "1 billion");
  EXPECT_EQ(formatLarge(2.5e15), "2500 trillion");
  EXPECT_EQ(formatLarge(26440), "26,440");
}

TEST(SearchReport, PlansOfOneShapeAreToldApart) {
  SearchReport report = reportOn(8);
  Parallelism shape, other;
  shape.dp = 8;
  other.tp = 8;
  cost::StepSeconds parts;
  parts.compute = 4;
  PlanReport few = planOf(shape, parts);
  few.stages = {{0, 37, 11, 0, 4, {}}};
  parts.compute += parts.recompute = 0.5;
  PlanReport many = planOf(shape, parts);
  many.stages = {{0, 37, 33, 0, 4, {}}};
  report.plans = {few, planOf(other, parts), many};
  EXPECT_EQ(report.nameOf(report.plans[0]), shape.str() + ", 11 recomputed");
  EXPECT_EQ(report.nameOf(report.plans[1]), other.str());
  EXPECT_EQ(report.nameOf(report.plans[2]), shape.str() + ", 33 recomputed");
  EXPECT_EQ(whyBehind(many, few, report), "+0.500 s recomputation: 33 of 37 blocks recomputed, not 11");
}

TEST(SearchReport, ReasonsNameThePartsThatGrew) {
  SearchReport report = reportOn(8);
  cost::StepSeconds parts;
  parts.compute = 4;
  Parallelism shape;
  shape.dp = 8;
  shape.tp = 8;
  shape.microbatches = 8;
  PlanReport best = planOf(shape, parts);

  Parallelism pipeline = shape;
  pipeline.dp = 4;
  pipeline.tp = 1;
  pipeline.pp = 16;
  pipeline.schedule = PipelineKind::OneForwardOneBackward;
  cost::StepSeconds staged = parts;
  staged.bubble = 0.4;
  EXPECT_EQ(whyBehind(planOf(pipeline, staged), best, report), "+0.400 s bubble: 8 micro-batches over 16 stages, 1f1b");

  Parallelism wide = shape;
  wide.tp = 16;
  wide.dp = 4;
  cost::StepSeconds summed = parts;
  summed.tensor = 0.9;
  summed.compute = 3.7;
  EXPECT_EQ(whyBehind(planOf(wide, summed), best, report),
            "+0.900 s tensor and context communication: tp=16 leaves the 8 devices that the fast link joins; saves "
            "0.300 s of compute");

  Parallelism shared = shape;
  shared.zero = 3;
  cost::StepSeconds gathered = parts;
  gathered.data = 1.5;
  gathered.compute = 5;
  gathered.recompute = 1;
  EXPECT_EQ(whyBehind(planOf(shared, gathered), best, report),
            "+1.50 s gradients and parameters: parameters gathered for each of 8 micro-batches, zero=3; +1.00 s "
            "recomputation: activations recomputed to fit");
}

TEST(SearchReport, PlansThatDoNotFitSayWhatTheyLack) {
  SearchReport report = reportOn(8);
  PlanReport best = planOf({}, {}), large = best;
  large.memory.activations = 15.0 * (1 << 30);
  large.memory.optimizer = 5.0 * (1 << 30);
  large.fits = false;
  EXPECT_EQ(whyBehind(large, best, report), "needs 12.0 GiB more than a device has: activations 15.0 GiB");
  EXPECT_DOUBLE_EQ(report.excess(large), 12.0 * (1 << 30));
  large.fits = true;
  EXPECT_EQ(whyBehind(large, best, report), "as fast, but needs 19.0 GiB more");
}

/// Checks the report of a whole search: parts add up to the times by which plans are ranked,
/// stages hold all blocks, a device holds the memory that the search placed on it, and every
/// runner-up has a reason.
TEST(SearchReport, DescribesWhatWasSolved) {
  TransformerProblem problem = problemOf("llama2-7b", 16, 32, 40);
  TransformerPricer pricer(problem);
  ShapeResult result = searchShapes(enumerateShapes(shapeSpaceOf(problem)), pricer, 50);
  SearchReport report = reportOf(problem, pricer, result, 40);
  ASSERT_EQ(report.plans.size(), 40u);
  EXPECT_TRUE(report.plans[0].reason.empty());
  bool recomputes = false;
  for (size_t i = 0; i < report.plans.size(); ++i) {
    const PlanReport &plan = report.plans[i];
    EXPECT_DOUBLE_EQ(plan.seconds, result.plans[i].seconds);
    EXPECT_TRUE(plan.fits) << plan.shape.str();
    EXPECT_EQ(i == 0, plan.reason.empty()) << plan.shape.str();
    ASSERT_EQ(int64_t(plan.stages.size()), plan.shape.pp);
    size_t blocks = 0, fullest = 0;
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      const StageReport &stage = plan.stages[s];
      blocks += stage.blocks;
      double solved = result.plans[i].stages.stages[s].bytes;
      EXPECT_NEAR((stage.memory.total() - stage.memory.communicators) / solved, 1, 1e-9) << plan.shape.str();
      if (stage.memory.total() > plan.stages[fullest].memory.total())
        fullest = s;
    }
    EXPECT_EQ(blocks, 34u);
    EXPECT_DOUBLE_EQ(plan.memory.total(), plan.stages[fullest].memory.total());
    EXPECT_EQ(int64_t(plan.recomputed()), pricer.recomputed(result.plans[i].stages));
    recomputes |= plan.recomputed() > 0;
  }
  EXPECT_TRUE(recomputes);
}

} // namespace
