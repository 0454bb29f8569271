//===- SharedPricerTest.cpp - Searches that share what they know of a step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every seed is a model and a machine. A search that shares the tables or the placements of an earlier one must find
// what it finds alone, and a search for the best plan the first plan of a ranking.
//
//===----------------------------------------------------------------------===//

#include "RandomGraphs.h"
#include "planner/model/GraphPricer.h"
#include "llvm/ADT/bit.h"

using namespace dtcc;
using namespace dtcc::spmd;

namespace {

using SharedPricerTest = RandomGraphs;

/// All that a search says of its plans.
std::string textOf(GraphPricer &pricer, size_t keep) {
  plan::ShapeResult found = plan::searchShapes(plan::enumerateShapes(pricer.space()), pricer, keep);
  std::string all;
  llvm::raw_string_ostream text(all);
  text << found.shapes << ' ' << found.solved << ' ' << found.infeasible << ' '
       << llvm::bit_cast<uint64_t>(found.lowerBound) << '\n';
  for (const plan::ShapePlan &each : found.plans)
    text << llvm::bit_cast<uint64_t>(each.seconds) << ' '
         << llvm::bit_cast<uint64_t>(pricer.describe(each).memory.total()) << ' ' << each.shape.str() << '\n'
         << pricer.write(each.shape, each.stages).toJson() << '\n';
  return all;
}

TEST_F(SharedPricerTest, FindTheSame) {
  forSeeds(20, [&](uint64_t) {
    makeModel(1 + size_t(pick(4)));
    cost::Machine machine = makeMachine(oneOf<int64_t>({4, 8})), fewer = machine;
    fewer.ranks = 2;
    GraphRequest request, any;
    any.anyMemory = true;
    auto first = std::make_shared<GraphPricer>(step, machine, request);
    std::string text = textOf(*first, 5);
    GraphPricer sharing(step, machine, any, first, /*sharesPlacements=*/true), alone(step, machine, any);
    EXPECT_EQ(textOf(sharing, 5), textOf(alone, 5));
    GraphPricer onFewer(step, fewer, request, first), fewerAlone(step, fewer, request);
    EXPECT_EQ(textOf(onFewer, 5), textOf(fewerAlone, 5));
    // Nor does the first pricer change.
    EXPECT_EQ(textOf(*first, 5), text);
  });
}

TEST_F(SharedPricerTest, BestOfARanking) {
  size_t found = 0;
  forSeeds(40, [&](uint64_t) {
    makeModel(1 + size_t(pick(4)));
    cost::Machine machine = makeMachine(oneOf<int64_t>({4, 8}));
    GraphRequest request;
    request.anyMemory = chance(50);
    GraphPricer ranking(step, machine, request), pricer(step, machine, request);
    plan::ShapeList shapes = plan::enumerateShapes(ranking.space());
    plan::ShapeResult all = plan::searchShapes(shapes, ranking, shapes.size()),
                      best = plan::searchBest(shapes, pricer, 3);
    ASSERT_EQ(best.plans.size(), std::min<size_t>(3, all.plans.size()));
    for (size_t i = 0; i < best.plans.size(); ++i)
      EXPECT_EQ(best.plans[i].seconds, all.plans[i].seconds);
    found += best.plans.size();
  });
  EXPECT_GT(found, 40u);
}

} // namespace
