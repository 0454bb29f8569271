//===- GraphSearchTest.cpp - The search of graphs against exhaustive ones
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every seed is a small model: some layers of five kinds, repeated or not, parameters of some
// shared, a machine, sizes of axes. Blocks that are alike are folded into one: what a
// placement costs, what blocks cost, and what a shape takes must be as if they were not.
// Placements are compared with all placements, where these can be counted, searches over
// shapes with all shapes solved by the exhaustive solver of stages.
//
//   DTCC_RANDOM_GRAPHS=2000 DTCC_RANDOM_SEED=300 spmd-graph-search    more, or one of them
//
//===----------------------------------------------------------------------===//

#include "RandomGraphs.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/model/GraphPricer.h"
#include "planner/model/PriceBlocks.h"
#include "planner/problem/InParallel.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstdio>
#include <tuple>

using namespace dtcc;
using namespace dtcc::spmd;

namespace {

using GraphSearchTest = RandomGraphs;

/// Costs of each type of block of a step that `plan` places.
std::vector<BlockCost> priceBlocks(const PlacementInput &input, const StepValues &values, const plan::Plan &plan,
                                   const cost::Machine &machine) {
  BlockTable table(input, values);
  ReshardPrices reshards(plan.mesh, secondsOfMoves(plan.mesh, machine));
  return BlockPrices(table, plan, KernelSizes::of(machine)).price(plan, reshards);
}

/// The choice of `whole`, in which blocks are alike, that `folded` stands for.
std::vector<uint32_t> expand(const std::vector<uint32_t> &choice, const PlacementProblem &folded,
                             const PlacementProblem &whole, const StepBlocks &blocks, mlir::func::FuncOp step) {
  llvm::DenseMap<mlir::Operation *, size_t> nodes;
  for (auto [number, op] : llvm::enumerate(folded.ops))
    nodes[op] = number;
  std::vector<uint32_t> result;
  for (auto [op, candidates] : llvm::zip_equal(whole.ops, whole.candidates)) {
    mlir::Operation *first = blocks.representative(op);
    auto node = nodes.find(first);
    EXPECT_TRUE(node != nodes.end());
    int64_t candidate = folded.candidates[node->second][choice[node->second]];
    auto at = llvm::find(candidates, candidate);
    EXPECT_TRUE(at != candidates.end()) << "a block alike has not candidate " << candidate << " of "
                                        << op->getName().getStringRef().str();
    result.push_back(at == candidates.end() ? 0 : uint32_t(at - candidates.begin()));
  }
  return result;
}

void expectSame(double value, double expected, const std::string &what) {
  if (value == expected)
    return;
  EXPECT_NEAR(value, expected, 1e-9 * std::max(std::abs(value), std::abs(expected))) << what;
}

/// Everything of two works but seconds of exchange, which depend on neighbours.
void expectAlike(const cost::Work &work, const cost::Work &expected, const std::string &what) {
  expectSame(work.kernelBytes, expected.kernelBytes, what + " bytes");
  ASSERT_EQ(work.gemms.size(), expected.gemms.size()) << what;
  for (auto [a, b] : llvm::zip_equal(work.gemms, expected.gemms)) {
    EXPECT_EQ(std::tuple(a.m, a.n, a.k, a.count, a.width), std::tuple(b.m, b.n, b.k, b.count, b.width)) << what;
  }
  ASSERT_EQ(work.attentions.size(), expected.attentions.size()) << what;
  for (auto [a, b] : llvm::zip_equal(work.attentions, expected.attentions))
    EXPECT_EQ(std::tuple(a.heads, a.queries, a.keys, a.headSize, a.backward),
              std::tuple(b.heads, b.queries, b.keys, b.headSize, b.backward))
        << what;
}

TEST_F(GraphSearchTest, FoldedBlocksCostWhatTheyCost) {
  size_t problems = 0, folded = 0, exhausted = 0;
  forSeeds(150, [&](uint64_t) {
    bool tiny = chance(30);
    makeModel(tiny ? size_t(pick(4)) : 1 + size_t(pick(8)), tiny);
    int64_t tp = oneOf<int64_t>({2, 4}), dp = oneOf<int64_t>({1, 2});
    cost::Machine machine = makeMachine(dp * tp);
    plan::Plan plan = plan::makeDefaultPlan({.dp = dp, .tp = tp, .microbatches = oneOf<int64_t>({1, 2})});
    plan.sequenceParallel = chance(30);
    bool share = chance(30);
    PlacementInput few(step, chance(20) ? 4 : 48);
    auto many = unfolded([&] { return std::make_unique<PlacementInput>(step, 1000); });
    auto small = placementProblem(few, plan, machine, share), large = placementProblem(*many, plan, machine, share);
    ASSERT_TRUE(mlir::succeeded(small) && mlir::succeeded(large));
    ++problems;
    folded += small->ops.size() < large->ops.size();
    // The best choice, and any.
    plan::ChoiceSolution best = plan::solve(small->choice);
    EXPECT_TRUE(best.isOptimal());
    std::vector<std::vector<uint32_t>> choices = {best.candidates};
    for (int i = 0; i < 5; ++i) {
      choices.push_back(best.candidates);
      for (auto [candidate, costs] : llvm::zip_equal(choices.back(), small->choice.nodes))
        if (chance(30))
          candidate = uint32_t(pick(int64_t(costs.size())));
    }
    for (const std::vector<uint32_t> &choice : choices)
      expectSame(plan::costOf(small->choice, choice),
                 plan::costOf(large->choice, expand(choice, *small, *large, few.blocks, step)), "placement");
    // All choices, where they are few.
    double count = 1;
    for (const std::vector<double> &costs : small->choice.nodes)
      count *= double(costs.size());
    if (count < 3e4) {
      expectSame(best.cost, plan::solveExhaustively(small->choice).cost, "best placement");
      ++exhausted;
    }
    if (best.cost == plan::kForbidden)
      return;

    ASSERT_TRUE(mlir::succeeded(solvePlacement(few, plan, machine, share)));
    StepValues valuesOfFew(few.blocks), valuesOfMany(many->blocks);
    std::vector<BlockCost> each = priceBlocks(few, valuesOfFew, plan, machine),
                           all = priceBlocks(*many, valuesOfMany, plan, machine);
    BlockCost sum, expected;
    auto add = [](BlockCost &total, const BlockCost &block, double times) {
      total.forward.exchangeSeconds += times * block.forward.exchangeSeconds;
      total.inputGradient.exchangeSeconds += times * block.inputGradient.exchangeSeconds;
      total.weightGradient.exchangeSeconds += times * block.weightGradient.exchangeSeconds;
      total.once.exchangeSeconds += times * block.once.exchangeSeconds;
      total.parameters += times * block.parameters;
      total.sharedParameters += times * block.sharedParameters;
      for (size_t mode = 0; mode < kRecomputeModes; ++mode)
        total.again[mode].exchangeSeconds += times * block.again[mode].exchangeSeconds;
    };
    if (few.blocks.blocks().size() == many->blocks.blocks().size())
      for (auto [number, block] : llvm::enumerate(few.blocks.blocks())) {
        std::string name =
            "block " + std::to_string(number) + " like " + std::to_string(few.blocks.firstOf(block.type));
        const BlockCost &a = each[block.type], &b = all[many->blocks.blocks()[number].type];
        expectAlike(a.forward, b.forward, name + " forward");
        expectAlike(a.inputGradient, b.inputGradient, name + " input gradient");
        expectAlike(a.weightGradient, b.weightGradient, name + " weight gradient");
        expectAlike(a.once, b.once, name + " once");
        for (size_t mode = 0; mode < kRecomputeModes; ++mode)
          expectAlike(a.again[mode], b.again[mode], name + " again " + std::to_string(mode));
        expectSame(a.parameters, b.parameters, name + " parameters");
        EXPECT_GE(a.leavingBytes, b.leavingBytes) << name + " leaving bytes";
      }
    for (const StepBlocks::Block &block : few.blocks.blocks())
      add(sum, each[block.type], 1);
    for (const BlockCost &block : all)
      add(expected, block, 1);
    expectSame(sum.forward.exchangeSeconds, expected.forward.exchangeSeconds, "forward exchange");
    expectSame(sum.inputGradient.exchangeSeconds, expected.inputGradient.exchangeSeconds, "input gradients' exchange");
    expectSame(sum.weightGradient.exchangeSeconds, expected.weightGradient.exchangeSeconds,
               "weight gradients' exchange");
    expectSame(sum.once.exchangeSeconds, expected.once.exchangeSeconds, "exchange once");
    expectSame(sum.parameters, expected.parameters, "parameters");
    // Joined blocks compute more again, and share less with others.
    if (few.blocks.blocks().size() != many->blocks.blocks().size())
      return;
    for (size_t mode = 0; mode < kRecomputeModes; ++mode)
      expectSame(sum.again[mode].exchangeSeconds, expected.again[mode].exchangeSeconds, "exchange again");
    expectSame(sum.sharedParameters, expected.sharedParameters, "shared parameters");
  });
  std::printf("%zu placements, %zu with folded blocks, %zu compared with all choices\n", problems, folded, exhausted);
}

/// A type of blocks needs what that of its blocks needs which needs the most: under the last of many, the values of all
/// others may be alive.
TEST_F(GraphSearchTest, FoldedBlocksNeedTheMostOfAny) {
  size_t problems = 0;
  forSeeds(60, [&](uint64_t) {
    const bool splitsTensors = chance(50);
    makeModel(3 + size_t(pick(8)), /*tiny=*/false, /*sumsLayers=*/!splitsTensors);
    cost::Machine machine = makeMachine(2);
    plan::Plan plan = plan::makeDefaultPlan({.dp = splitsTensors ? 1 : 2,
                                             .tp = splitsTensors ? 2 : 1,
                                             .microbatches = oneOf<int64_t>({1, 2}),
                                             .zero = int(pick(3)),
                                             .sequenceParallel = splitsTensors && chance(70)});
    PlacementInput few(step, 1000);
    auto many = unfolded([&] { return std::make_unique<PlacementInput>(step, 1000); });
    ASSERT_TRUE(mlir::succeeded(solvePlacement(few, plan, machine)));
    StepValues valuesOfFew(few.blocks), valuesOfMany(many->blocks);
    std::vector<BlockCost> each = priceBlocks(few, valuesOfFew, plan, machine),
                           all = priceBlocks(*many, valuesOfMany, plan, machine);
    if (few.blocks.blocks().size() != many->blocks.blocks().size())
      return;
    problems += each.size() < all.size();
    for (size_t mode = 0; mode < kRecomputeModes; ++mode) {
      std::vector<double> most(each.size());
      for (auto [number, block] : llvm::enumerate(few.blocks.blocks())) {
        const BlockCost &own = all[many->blocks.blocks()[number].type];
        most[block.type] = std::max(most[block.type], own.workingBytes[mode]);
      }
      for (auto [type, bytes] : llvm::enumerate(most))
        expectSame(each[type].workingBytes[mode], bytes,
                   "type " + std::to_string(type) + " in mode " + std::to_string(mode));
    }
  });
  std::printf("%zu models with folded blocks\n", problems);
}

/// A plan may place repeated blocks differently. It is priced as it is with every block solved by itself.
TEST_F(GraphSearchTest, GivenPlacementsCostWhatTheyCost) {
  size_t split = 0, folded = 0;
  forSeeds(60, [&](uint64_t) {
    makeModel(2 + size_t(pick(6)));
    int64_t tp = oneOf<int64_t>({2, 4}), dp = oneOf<int64_t>({1, 2});
    cost::Machine machine = makeMachine(dp * tp);
    plan::Plan plan = plan::makeDefaultPlan({.dp = dp, .tp = tp, .microbatches = oneOf<int64_t>({1, 2})});
    PlacementInput alike(step);
    if (mlir::failed(solvePlacement(alike, plan, machine, true)))
      return;
    // Some blocks lose all entries of the plan, so that only the batch is split there. Some states lose their entries
    // and take the layout that their readers want.
    std::vector<bool> whole;
    for (size_t block = 0; block < alike.blocks.blocks().size(); ++block)
      whole.push_back(chance(30));
    llvm::erase_if(plan.ops, [&](const plan::OpPlan &op) {
      size_t block = 0;
      while (block + 1 < whole.size() && alike.blocks.blocks()[block + 1].origin <= op.origin)
        ++block;
      return whole[block];
    });
    llvm::erase_if(plan.states, [&](const plan::StatePlan &) { return chance(50); });
    std::optional<GivenPlacement> given = GivenPlacement::of(step, plan);
    ASSERT_TRUE(given.has_value());
    plan::Plan placed = plan;
    placed.ops = given->ops;
    placed.states = given->states;
    PlacementInput few(step, 48, {}, &*given);
    auto many = unfolded([&] { return std::make_unique<PlacementInput>(step, 1000); });
    split += few.blocks.types() > alike.blocks.types();
    folded += few.blocks.types() < many->blocks.types();
    StepValues valuesOfFew(few.blocks), valuesOfMany(many->blocks);
    std::vector<BlockCost> each = priceBlocks(few, valuesOfFew, placed, machine),
                           all = priceBlocks(*many, valuesOfMany, placed, machine);
    double sums[2][4] = {};
    auto add = [](double (&sum)[4], const BlockCost &block) {
      sum[0] += block.forward.kernelBytes + block.inputGradient.kernelBytes + block.weightGradient.kernelBytes;
      sum[1] += block.forward.exchangeSeconds + block.inputGradient.exchangeSeconds;
      sum[2] += block.weightGradient.exchangeSeconds + block.once.exchangeSeconds;
      sum[3] += block.parameters;
    };
    for (const StepBlocks::Block &block : few.blocks.blocks())
      add(sums[0], each[block.type]);
    for (const BlockCost &block : all)
      add(sums[1], block);
    // Blocks alike are priced as the first of them; whether others read what they make, which is written then, differs.
    EXPECT_NEAR(sums[0][0], sums[1][0], 5e-2 * sums[1][0]) << "bytes";
    const char *names[] = {"exchange", "exchange of gradients", "parameters"};
    for (size_t i = 0; i < 3; ++i)
      expectSame(sums[0][i + 1], sums[1][i + 1], names[i]);
    // A state that the plan does not list takes the layout that its readers want, so every state has one.
    EXPECT_EQ(given->states.size(), size_t(llvm::range_size(step.getOps<graph::ReadOp>())));
  });
  EXPECT_GT(split, 10u);
  EXPECT_GT(folded, 10u);
}

/// Sizes of a space, some of which are given.
plan::ShapeSpace narrowed(plan::ShapeSpace space, llvm::function_ref<bool(int64_t)> chance) {
  for (std::vector<int64_t> *sizes : {&space.tp, &space.cp, &space.pp})
    if (sizes->size() > 2 && chance(30))
      sizes->resize(2);
  return space;
}

/// Layers with dropout, each with random numbers of its own.
TEST_F(GraphSearchTest, LayersOfOtherRandomNumbersAreAlike) {
  auto state = [](int64_t layer) {
    return llvm::formatv(
               "graph.state @w{0} : tensor<6x6xf32> {{role = #graph<role parameter>, trainable = true, "
               "decay = true, saved_name = \"w{0}\", saved_shape = array<i64: 6, 6>, init = #graph.init<zero>}\n",
               layer)
        .str();
  };
  constexpr int64_t kLayers = 6;
  std::string states, ops = "%y0 = graph.relu %x : tensor<8x6xf32>\n";
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    states += state(layer);
    ops += llvm::formatv("%w{0} = graph.read @w{0} : tensor<6x6xf32>\n"
                         "%h{0} = graph.contract \"bk,kn->bn\" %y{0}, %w{0} : (tensor<8x6xf32>, tensor<6x6xf32>) -> "
                         "tensor<8x6xf32>\n"
                         "%d{0} = graph.dropout %h{0} {{ratio = 0.1, id = {0}} : tensor<8x6xf32>\n"
                         "%y{1} = graph.relu %d{0} : tensor<8x6xf32>\n",
                         layer, layer + 1)
               .str();
  }
  parse(states +
        "func.func @loss(%x: tensor<8x6xf32> {graph.name = \"x\", graph.role = \"data\"}, %labels: tensor<8xi64> "
        "{graph.name = \"labels\", graph.role = \"labels\"}) -> (tensor<f32>, tensor<f32>) {\n" +
        ops +
        llvm::formatv("%sum, %count, %lse = graph.cross_entropy %y{0}, %labels {{ignore_index = -100 : i64} : "
                      "(tensor<8x6xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)\n"
                      "return %sum, %count : tensor<f32>, tensor<f32>\n}\n",
                      kLayers)
            .str());
  StepBlocks blocks(step);
  EXPECT_EQ(int64_t(blocks.blocks().size()), kLayers);
  // The first reads the input, the last the loss.
  EXPECT_LE(blocks.types(), 3u);
}

TEST_F(GraphSearchTest, ReshardsCostWhatTheirPlansCost) {
  cost::Machine machine = cost::Machine::cpu(12, 2, 0);
  auto layoutOf = [&](const Mesh &mesh, size_t rank) {
    Layout layout = Layout::replicated(rank);
    for (const MeshAxis &axis : mesh.axes)
      if (int64_t place = pick(int64_t(rank) + 2); place < int64_t(rank))
        layout.dims[place].push_back(axis.name);
      else if (place == int64_t(rank))
        layout.partial.push_back(axis.name);
    layout.normalize({});
    return layout;
  };
  forSeeds(100, [&](uint64_t) {
    Mesh mesh{{{"dp", 2, false}, {"tp", 3, false}}}, larger{{{"dp", 4, false}, {"tp", 2, false}}};
    size_t rank = size_t(1 + pick(3));
    Layout from = layoutOf(mesh, rank), to = layoutOf(mesh, rank);
    ReshardPrices prices(mesh, secondsOfMoves(mesh, machine));
    for (const Mesh &each : {mesh, larger, mesh}) {
      ReshardPlanner planner(each);
      prices.resize(each, secondsOfMoves(each, machine));
      for (int i = 0; i < 4; ++i) {
        std::vector<int64_t> shape;
        for (size_t dim = 0; dim < rank; ++dim)
          shape.push_back(oneOf<int64_t>({1, 6, 24, 480, 4096}));
        const std::optional<ReshardPlan> &plan = planner.plan(from, to, shape, 2);
        std::optional<ReshardPrices::Price> price = prices.price(from, to, shape, 2);
        ASSERT_EQ(plan.has_value(), price.has_value()) << from.str() << " to " << to.str();
        if (!plan)
          continue;
        EXPECT_EQ(plan->cost, price->bytes) << from.str() << " to " << to.str();
        double seconds = 0;
        Layout at = from;
        std::vector<Move::Kind> kinds;
        for (const ReshardPrices::Step &step : prices.wayOf(prices.between(from, to), shape, 2)) {
          seconds += secondsOfMoves(each, machine)(step.move, step.sizes).seconds;
          at = applyMove(step.move, at);
          // Moves of a plan are fused.
          if (kinds.empty() || kinds.back() != step.move.kind)
            kinds.push_back(step.move.kind);
        }
        EXPECT_EQ(at, to);
        EXPECT_NEAR(seconds, price->time.seconds, 1e-12 * seconds);
        std::vector<Move::Kind> planned;
        for (const Move &move : plan->moves)
          if (planned.empty() || planned.back() != move.kind)
            planned.push_back(move.kind);
        EXPECT_EQ(kinds, planned) << from.str() << " to " << to.str();
      }
    }
  });
}

/// Does the plan leave anything to hosts?
bool isOffloaded(const plan::ShapePlan &plan, const plan::StageProblem &problem) {
  bool moved = plan.shape.offload.optimizer;
  for (const plan::StageSolution::Stage &stage : plan.stages.stages)
    for (auto [block, mode] : llvm::zip_equal(problem.blocks, plan.stages.modes))
      moved |= problem.types[block].modes[stage.deviceClass][mode].hostBytes > 0;
  return moved;
}

TEST_F(GraphSearchTest, ThreadsFindTheSame) {
  size_t plans = 0;
  llvm::scope_exit restore([] { plan::useThreads(0); });
  forSeeds(20, [&](uint64_t) {
    makeModel(1 + size_t(pick(4)));
    cost::Machine machine = makeMachine(oneOf<int64_t>({4, 8}));
    GraphRequest request;
    request.anyMemory = chance(50);
    std::string texts[2];
    for (size_t threads : {1, 5}) {
      plan::useThreads(threads);
      GraphPricer pricer(step, machine, request);
      plan::ShapeSpace space = pricer.space();
      plan::ShapeResult found = plan::searchShapes(plan::enumerateShapes(space), pricer, 10);
      llvm::raw_string_ostream text(texts[threads > 1]);
      text << found.shapes << ' ' << found.solved << ' ' << found.infeasible << ' '
           << llvm::bit_cast<uint64_t>(found.lowerBound) << ' ' << llvm::bit_cast<uint64_t>(found.modelled) << '\n';
      for (const plan::ShapePlan &each : found.plans)
        text << llvm::bit_cast<uint64_t>(each.seconds) << ' '
             << llvm::bit_cast<uint64_t>(pricer.describe(each).memory.total()) << ' ' << each.shape.str() << '\n'
             << pricer.write(each.shape, each.stages).toJson() << '\n';
      plans += found.plans.size();
    }
    EXPECT_EQ(texts[0], texts[1]);
  });
  EXPECT_GT(plans, 100u);
}

TEST_F(GraphSearchTest, BestOfAllShapes) {
  size_t searches = 0, shapes = 0, solved = 0, infeasible = 0, offloaded = 0, mixed = 0;
  forSeeds(90, [&](uint64_t) {
    makeModel(1 + size_t(pick(3)));
    std::vector<cost::Machine> kinds = {makeMachine(oneOf<int64_t>({1, 2, 4, 8}))};
    kinds.reserve(2);
    cost::Machine &machine = kinds[0];
    GraphRequest request;
    bool isLarge = StepBlocks(step).blocks().size() > 6, hasHost = !machine.isCpu() && chance(85);
    // Ways to keep values multiply, and so do kinds of devices: of many blocks one is given.
    if (!isLarge && !machine.isCpu() && chance(30))
      kinds.push_back(makeMachine(oneOf<int64_t>({1, 2})));
    if (hasHost) {
      for (cost::Machine &kind : kinds)
        kind.host = {oneOf({1e4, 1e6, 1e9}), chance(30) ? 1e6 : 0, 1e9};
      request.mayOffloadActivations = !isLarge && kinds.size() == 1 && chance(85);
      request.mustOffloadActivations = chance(25);
    }
    if (chance(30) || isLarge || (kinds.size() > 1 && chance(50)))
      request.recompute = oneOf({plan::Recompute::None, plan::Recompute::Selective, plan::Recompute::Full});
    request.share = chance(30);
    if (chance(20)) {
      llvm::Expected<Pin> pin = parsePin(chance(50) ? "wte=[{},{tp}]" : "l0.*=[{},{}]");
      ASSERT_TRUE(bool(pin));
      if (mlir::FailureOr<Pins> pins = Pins::resolve(step, {*pin}); mlir::succeeded(pins))
        request.pins = *pins;
    }
    // Memory: from so little that nothing fits to no limit.
    GraphRequest anyMemory = request;
    anyMemory.anyMemory = true;
    GraphPricer free(step, kinds, anyMemory);
    plan::ShapeSpace space = narrowed(free.space(), [&](int64_t percent) { return chance(percent); });
    const plan::ShapeList whole = plan::enumerateShapes(space);
    std::vector<plan::Parallelism> drawn(whole.begin(), whole.end());
    std::shuffle(drawn.begin(), drawn.end(), random);
    drawn.resize(std::min<size_t>(drawn.size(), 60));
    plan::ShapeList all;
    for (const plan::Parallelism &shape : drawn)
      all.push_back(shape);
    double most = 0, communicators = 0;
    for (const plan::Parallelism &shape : all)
      if (std::isfinite(free.bound(shape))) {
        // A host may have no room.
        plan::StageSolution one = plan::solve(free.problem(shape));
        if (one.isInfeasible())
          continue;
        plan::MemoryParts memory = free.describe({shape, one, 0}).memory;
        communicators = std::max(communicators, memory.communicators);
        most = std::max(most, memory.total() - memory.communicators);
      }
    for (cost::Machine &kind : kinds)
      kind.device.memoryBytes = (communicators + most * oneOf({0.2, 0.5, 0.8, 0.95, 2.0})) / (kind.isCpu() ? 1 : 0.97);
    GraphPricer pricer(step, kinds, request), oracle(step, kinds, request);
    GraphRequest keeping = request;
    keeping.mayOffloadActivations = false;
    GraphPricer keeper(step, kinds, keeping);

    double best = plan::kForbidden, kept = plan::kForbidden;
    for (const plan::Parallelism &shape : all) {
      SCOPED_TRACE(shape.str());
      double bound = oracle.bound(shape);
      bool canBePlaced = std::isfinite(free.bound(shape));
      if (!canBePlaced) {
        EXPECT_FALSE(std::isfinite(bound));
        continue;
      }
      plan::StageProblem problem = oracle.problem(shape);
      ASSERT_EQ(problem.check(), "");
      // How stages are dealt out, and what waits for weight gradients at each, the problem does not know.
      const bool isKnown = !problem.isDealt && !hasWeightsApart(shape);
      plan::StageSolution exact = isKnown ? plan::solveExhaustively(problem) : oracle.solve(shape);
      double seconds = exact.isInfeasible() ? plan::kForbidden : exact.seconds;
      EXPECT_LE(bound, seconds * (1 + 1e-9));
      best = std::min(best, seconds);
      if (plan::StageSolution device = isKnown ? plan::solve(keeper.problem(shape)) : keeper.solve(shape);
          !shape.offload.optimizer && !device.isInfeasible())
        kept = std::min(kept, device.seconds);
    }
    plan::ShapeResult found = plan::searchShapes(all, pricer, size_t(oneOf({1, 5})));
    ++searches;
    shapes += found.shapes;
    solved += found.solved;
    infeasible += found.infeasible;
    ASSERT_EQ(found.plans.empty(), !std::isfinite(best));
    if (found.plans.empty())
      return;
    expectSame(found.modelled, best, "best of all shapes");
    EXPECT_LE(found.lowerBound, best * (1 + 1e-9));
    // A tensor that fits into device memory at no cost of time is not offloaded, unless the request asks for it.
    bool must = request.mustOffloadActivations && request.mayOffloadActivations;
    if (!must)
      EXPECT_LE(best, kept * (1 + 1e-9));
    for (const plan::ShapePlan &each : found.plans)
      if (!must && each.stages.seconds < best * (1 + 1e-12) && isOffloaded(each, pricer.problem(each.shape)))
        EXPECT_GT(kept, best) << each.shape.str();
    // Solved again for less, a plan holds no more than that by its own estimate, also where ranks have several stages.
    for (const plan::ShapePlan &each : found.plans) {
      if (kinds.size() > 1)
        continue;
      plan::MemoryParts memory = pricer.describe(each).memory;
      double less = 0.9 * (memory.total() - memory.communicators);
      plan::StageSolution again = pricer.solveWithin(each.shape, less);
      if (again.isInfeasible())
        continue;
      memory = pricer.describe({each.shape, again, 0}).memory;
      EXPECT_LE(memory.total() - memory.communicators, less * (1 + 1e-9)) << each.shape.str();
    }
    // The best plan can be written, read again and carried out.
    const plan::ShapePlan &first = found.plans.front();
    plan::Plan plan = pricer.write(first.shape, first.stages);
    llvm::Expected<plan::Plan> read = plan::parsePlan(plan.toJson(), "plan");
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    EXPECT_EQ(plan, *read);
    offloaded += plan.offload.any();
    mixed += kinds.size() > 1;
    EXPECT_EQ(plan.offload.any(), isOffloaded(first, pricer.problem(first.shape)));
    // A plan that no program can run yet is refused.
    EXPECT_EQ(bool(distribute(plan)), plan.whyNoProgram().empty()) << first.shape.str() << plan.toJson();
    // The plan obeys the pins.
    for (const plan::StatePlan &state : plan.states)
      for (auto read : step.getOps<graph::ReadOp>())
        if (read.getState() == state.name && first.shape.tp > 1) {
          Layout layout = Layout::replicated(size_t(read.getY().getType().getRank()));
          layout.dims = *state.layout;
          EXPECT_TRUE(request.pins.allows(read.getY(), layout, {"tp"})) << state.name;
        }
  });
  EXPECT_TRUE(searches < 60 || (offloaded > 2 && mixed > 2));
  std::printf("%zu searches of %zu shapes, %zu solved, %zu too large or not possible; %zu offload, %zu on two kinds\n",
              searches, shapes, solved, infeasible, offloaded, mixed);
}

} // namespace
