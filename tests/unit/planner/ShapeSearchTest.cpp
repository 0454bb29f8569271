//===- ShapeSearchTest.cpp - The search over shapes against solving all of them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/ShapeSearch.h"
#include "planner/parallelism/Parallelism.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>

using namespace dtcc::plan;

namespace {

/// Random times and bytes of a few blocks, the same for the same shape; the bound is that of a pipeline whose stages
/// all take the mean.
class RandomPricer : public ShapePricer {
public:
  explicit RandomPricer(unsigned seed) : seed(seed) {}
  StageProblem problem(const Parallelism &shape) override {
    std::mt19937 random(seed + std::hash<std::string>()(shape.str()) % 1000003);
    auto draw = [&](int most) { return double(random() % (most + 1)); };
    StageProblem problem;
    problem.classes = {{shape.pp, 15 + draw(60)}};
    problem.types.resize(2);
    for (BlockType &type : problem.types) {
      type.modes = {{{1 + draw(9), 1 + draw(9)}, {1 + draw(15), draw(5)}}};
      type.stateBytes = draw(10);
      type.sendSeconds = double(shape.microbatches) * draw(2);
      type.tailSeconds = draw(4);
    }
    problem.blocks = {0, 1, 1, 0};
    for (int64_t i = 0; i < shape.pp; ++i)
      problem.inFlight.push_back(double(std::min(shape.microbatches, shape.pp - i)));
    problem.ramp = 1 / double(shape.virtualStages);
    problem.rounds = double(shape.microbatches) - problem.ramp;
    return problem;
  }
  double bound(const Parallelism &shape) override {
    StageProblem each = problem(shape);
    double sum = 0;
    for (uint32_t type : each.blocks)
      sum += std::min(each.types[type].modes[0][0].seconds, each.types[type].modes[0][1].seconds);
    return each.rounds * sum / double(each.stages()) + each.ramp * sum;
  }
  /// Half of the pricers know nothing.
  double boundBetween(const Parallelism &fewest, const Parallelism &most) override {
    if (seed % 2)
      return ShapePricer::boundBetween(fewest, most);
    double least = bound(most);
    for (Parallelism shape = fewest; shape.virtualStages < most.virtualStages; ++shape.virtualStages)
      least = std::min(least, bound(shape));
    return least;
  }

private:
  unsigned seed;
};

ShapeSpace smallSpace(unsigned seed) {
  ShapeSpace space;
  space.devices = 1 << (seed % 4);
  space.batch = 8;
  space.tp = {1, 2};
  space.pp = {1, 2, 4};
  space.layers = 4;
  // Some have families of shapes that differ in their virtual stages.
  space.unevenStages = seed % 3 == 0;
  if (space.unevenStages)
    space.layers = 12;
  return space;
}

TEST(ShapeList, KeepsRunsOfVirtualStagesAsFamilies) {
  Parallelism shape;
  shape.pp = 2;
  shape.schedule = PipelineKind::Interleaved;
  ShapeList list;
  std::vector<Parallelism> all;
  auto add = [&](int64_t tp, int64_t virtualStages) {
    shape.tp = tp;
    shape.virtualStages = virtualStages;
    list.push_back(shape);
    all.push_back(shape);
  };
  for (auto [tp, virtualStages] :
       std::initializer_list<std::pair<int64_t, int64_t>>{{1, 2}, {1, 3}, {1, 4}, {1, 6}, {2, 6}, {2, 7}, {1, 2}})
    add(tp, virtualStages);
  ASSERT_EQ(list.families().size(), 4u);
  EXPECT_EQ(list.families()[0].count, 3);
  EXPECT_EQ(list.size(), all.size());
  EXPECT_EQ(std::vector(list.begin(), list.end()), all);

  // A family of which one is taken out falls into two.
  auto isThird = [](const Parallelism &shape) { return shape.virtualStages == 3; };
  list.eraseIf(isThird);
  std::erase_if(all, isThird);
  EXPECT_EQ(list.families().size(), 5u);
  EXPECT_EQ(std::vector(list.begin(), list.end()), all);

  list.eraseFamiliesIf([](const ShapeFamily &family) { return family.fewest.tp == 2; });
  std::erase_if(all, [](const Parallelism &shape) { return shape.tp == 2; });
  EXPECT_EQ(list.size(), all.size());
  EXPECT_EQ(std::vector(list.begin(), list.end()), all);

  list.eraseIf([](const Parallelism &) { return true; });
  EXPECT_TRUE(list.empty());
  EXPECT_TRUE(list.begin() == list.end());
}

TEST(ShapeList, KeepsSchedulesAndStagesOfFamiliesThatAreElseAlike) {
  ShapeList list;
  std::vector<Parallelism> all;
  for (int64_t microbatches : {4, 8})
    for (auto [schedule, virtualStages] :
         std::initializer_list<std::pair<PipelineKind, int64_t>>{{PipelineKind::OneForwardOneBackward, 1},
                                                                 {PipelineKind::Interleaved, 2},
                                                                 {PipelineKind::Interleaved, 3}}) {
      Parallelism &shape = all.emplace_back();
      shape.pp = 2;
      shape.microbatches = microbatches;
      shape.schedule = schedule;
      shape.virtualStages = virtualStages;
      list.push_back(shape);
    }
  EXPECT_EQ(list.families().size(), 4u);
  EXPECT_EQ(list.front(), all.front());
  EXPECT_EQ(list.families()[3].fewest, all[4]);
  EXPECT_EQ(std::vector(list.begin(), list.end()), all);
  list.eraseFamiliesIf([](const ShapeFamily &family) { return family.fewest.virtualStages == 1; });
  std::erase_if(all, [](const Parallelism &shape) { return shape.virtualStages == 1; });
  EXPECT_EQ(std::vector(list.begin(), list.end()), all);
}

TEST(ShapeSearch, EqualsSolvingEveryShapeExhaustively) {
  int infeasible = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    ShapeList shapes = enumerateShapes(smallSpace(seed));
    ASSERT_FALSE(shapes.empty());
    RandomPricer pricer(seed);
    std::vector<double> all;
    for (const Parallelism &shape : shapes)
      if (StageSolution solution = solveExhaustively(pricer.problem(shape)); !solution.isInfeasible())
        all.push_back(solution.seconds);
    std::sort(all.begin(), all.end());
    ShapeResult found = searchShapes(shapes, pricer, 3);
    ASSERT_EQ(found.plans.size(), std::min<size_t>(3, all.size())) << seed;
    if (all.empty()) {
      ++infeasible;
      continue;
    }
    for (size_t i = 0; i < found.plans.size(); ++i)
      ASSERT_NEAR(found.plans[i].seconds, all[i], 1e-9) << seed;
    ASSERT_LE(found.lowerBound, all[0] + 1e-9) << seed;
    ASSERT_NEAR(found.modelled, found.lowerBound, 1e-9) << seed;
  }
  EXPECT_LT(infeasible, 500);
}

TEST(ShapeSearch, LeavesShapesUnsolved) {
  RandomPricer pricer(7);
  ShapeList shapes = enumerateShapes(smallSpace(3));
  ShapeResult found = searchShapes(shapes, pricer, 1);
  EXPECT_EQ(found.shapes, shapes.size());
  EXPECT_LT(found.solved, shapes.size());
}

/// Ranks plans anew. Of plans that are not wanted it tells no price but the limit that they exceed.
class FinePricer : public RandomPricer {
public:
  using RandomPricer::RandomPricer;
  double refine(const Parallelism &shape, const StageSolution &solution) override {
    ++priced;
    return exact(shape, solution);
  }
  double refineBelow(const Parallelism &shape, const StageSolution &solution, double below) override {
    if (exact(shape, solution) >= below)
      return below;
    return refine(shape, solution);
  }
  static double exact(const Parallelism &shape, const StageSolution &solution) {
    return solution.seconds * (1 + double(std::hash<std::string>()(shape.str()) % 100) / 200);
  }
  size_t priced = 0;
};

TEST(ShapeSearch, BestByTheFinerModelAlone) {
  size_t priced = 0, ranked = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    ShapeList shapes = enumerateShapes(smallSpace(seed));
    FinePricer pricer(seed), ranking(seed);
    std::vector<double> all;
    for (const Parallelism &shape : shapes)
      if (StageSolution solution = pricer.solve(shape); !solution.isInfeasible())
        all.push_back(FinePricer::exact(shape, solution));
    std::sort(all.begin(), all.end());
    size_t count = 1 + seed % 4;
    ShapeResult found = searchBest(shapes, pricer, count);
    ASSERT_EQ(found.plans.size(), std::min(count, all.size())) << seed;
    for (size_t i = 0; i < found.plans.size(); ++i)
      ASSERT_NEAR(found.plans[i].seconds, all[i], 1e-9) << seed;
    if (all.empty())
      continue;
    ASSERT_LE(found.lowerBound, all[0] + 1e-9) << seed;
    if (count > 1)
      continue;
    searchShapes(shapes, ranking, 1);
    priced += pricer.priced;
    ranked += ranking.priced;
  }
  EXPECT_LT(priced, ranked) << "the other plans are not priced";
}

TEST(ShapeSearch, EnumeratesWhatDivides) {
  ShapeSpace space;
  space.devices = 8;
  space.batch = 4;
  space.tp = {1, 2, 3, 4, 8};
  space.pp = {1, 2};
  space.layers = 6;
  for (const Parallelism &shape : enumerateShapes(space)) {
    EXPECT_EQ(shape.ranks(), 8);
    EXPECT_EQ(space.batch % (shape.dp * shape.microbatches), 0);
    EXPECT_EQ(shape.schedule == PipelineKind::None, shape.pp == 1);
    if (shape.schedule == PipelineKind::Interleaved)
      EXPECT_EQ(shape.microbatches % shape.pp, 0);
    if (shape.dp == 1)
      EXPECT_EQ(shape.zero, 0);
    EXPECT_NE(shape.tp, 3);
  }
  // No sample is left for half of 8 data-parallel ranks.
  space.dp = 8;
  EXPECT_TRUE(enumerateShapes(space).empty());
}

TEST(ShapeSearch, EnumeratesExpertsAndHosts) {
  ShapeSpace space;
  space.devices = 8;
  space.batch = 8;
  space.ep = {1, 2, 8};
  space.zero = {1};
  space.hostOptimizer = {false, true};
  space.microbatches = 1;
  ShapeList shapes = enumerateShapes(space);
  ASSERT_EQ(shapes.size(), 6u);
  for (const Parallelism &shape : shapes)
    EXPECT_EQ(shape.ranks(), 8);
  EXPECT_EQ(shapes.families().back().fewest.str(), "ep=8 zero=1 microbatches=1 offload=optimizer");
}

TEST(ShapeSearch, SpreadsExpertsOverTensorRanksWhereAllowed) {
  ShapeSpace space;
  space.devices = 8;
  space.batch = 8;
  space.tp = {4};
  space.ep = {8};
  space.zero = {0};
  space.microbatches = 1;
  EXPECT_TRUE(enumerateShapes(space).empty());
  space.expertsOverTensor = true;
  ASSERT_EQ(enumerateShapes(space).size(), 1u);
  EXPECT_EQ(enumerateShapes(space).front().str(), "dp=2,tp=4,folded-ep=8 zero=0 microbatches=1");
}

TEST(ShapeSearch, WritesShapesAsOptions) {
  Parallelism shape;
  EXPECT_EQ(shape.str(), "dp=1 zero=0 microbatches=1");
  shape.dp = shape.groups = 2;
  shape.tp = 4;
  shape.pp = 8;
  shape.zero = 1;
  shape.microbatches = 16;
  shape.schedule = PipelineKind::Interleaved;
  shape.virtualStages = 2;
  EXPECT_EQ(shape.str(), "dp=2x1,tp=4,pp=8 zero=1 microbatches=16 interleaved:2");
}

/// The text of every shape of a space is read back as that shape.
TEST(ParallelismText, RoundTrip) {
  ShapeSpace space;
  space.devices = 16;
  space.batch = 32;
  space.tp = {1, 2, 4};
  space.cp = {1, 2};
  space.pp = {1, 2, 4};
  space.layers = 8;
  space.ep = {1, 2, 8};
  space.hostOptimizer = {false, true};
  space.sequenceParallel = space.stationaryWeights = {false, true};
  space.schedules.push_back(PipelineKind::GPipe);
  std::string error;
  for (int64_t groups : {1, 2}) {
    space.groups = groups;
    for (Parallelism shape : enumerateShapes(space)) {
      EXPECT_EQ(shape.meshDp() % groups, 0) << shape.str();
      if (shape.cp > 1)
        shape.exchange = SequenceExchange::Ring;
      shape.recompute = groups > 1 ? Recompute::Full : Recompute::None;
      shape.offload.activations = shape.zero > 1;
      std::optional<Parallelism> read = parseParallelism(shape.str(), error);
      ASSERT_TRUE(read) << shape.str() << ": " << error;
      EXPECT_EQ(*read, shape) << shape.str();
    }
  }
  for (const char *wrong :
       {"dp=0", "tp", "zero=4", "interleaved:1 pp=2", "pp=2 dualpipe", "offload=disk", "1f1b", "dp=2x", "dp=0x2",
        "dp=2 dp=2", "tp=1048576 dp=1048576", "recompute=partial", "sequence-parallel", "stationary-weights"})
    EXPECT_FALSE(parseParallelism(wrong, error)) << wrong;
}

} // namespace
