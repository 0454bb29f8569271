//===- ForecastTest.cpp - What meshes of one model are forecast to take
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forecasts are right in relation to each other: what the search uses them for.
//
//===----------------------------------------------------------------------===//
//
#include "StepFixture.h"
#include "planner/model/GraphPricer.h"

using namespace dtcc;
using namespace dtcc::spmd;

namespace {

struct ForecastTest : StepFixture {
  /// Seconds of a step on 4 ranks that share 2 cores, all of the mesh given.
  double seconds(int64_t dp, int64_t ep, int64_t tp, int64_t zero) {
    GraphRequest request;
    request.share = tp > 1;
    request.recompute = plan::Recompute::None;
    GraphPricer pricer(whole->lookupSymbol<mlir::func::FuncOp>("step"), cost::Machine::cpu(dp * ep * tp, 2, 0),
                       request);
    plan::Parallelism shape;
    shape.dp = dp * ep;
    shape.ep = ep;
    shape.tp = tp;
    shape.zero = int(zero);
    plan::ShapeResult found = plan::searchShapes({shape}, pricer, 1);
    EXPECT_EQ(found.plans.size(), 1u);
    return found.plans.empty() ? 0 : found.plans[0].seconds;
  }
};

/// 100 million numbers of experts, read and updated by few tokens: what a rank holds decides.
TEST_F(ForecastTest, Experts) {
  load("../../../compiler/expert-memory.mlir");
  for (int64_t zero : {0, 1}) {
    double experts = seconds(1, 4, 1, zero), copies = seconds(4, 1, 1, zero);
    // A quarter of each expert takes as long as one expert of four, and halves of two the same.
    EXPECT_NEAR(seconds(1, 1, 4, zero) / experts, 1, 0.1) << zero;
    EXPECT_NEAR(seconds(1, 2, 2, zero) / experts, 1, 0.1) << zero;
    // Every rank does the reads, and with stage 0 the update, that here are shared out; and gradients are summed.
    EXPECT_GT(copies, (zero ? 2.5 : 4) * experts) << zero;
    // Two copies of halves are in between.
    EXPECT_GT(seconds(2, 2, 1, zero), 1.5 * experts) << zero;
    EXPECT_LT(seconds(2, 2, 1, zero), copies / 1.5) << zero;
    EXPECT_NEAR(seconds(2, 1, 2, zero) / seconds(2, 2, 1, zero), 1, 0.1) << zero;
  }
}

} // namespace
