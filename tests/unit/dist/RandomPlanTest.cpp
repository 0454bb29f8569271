//===- RandomPlanTest.cpp - Plans that nobody thought of train the same model
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every seed is a plan: a mesh of up to 8 ranks, axes that split the batch or the model in
// any order, factors and partial sums of every op, layouts of states, ZeRO stages as a
// whole and by state, shares over a part of the ranks, micro-batches, recomputation as a
// whole and by op. Three steps must equal the whole step's: loss, norm, every parameter; by
// plain gradient descent on odd seeds, whose parameters show every gradient. What a plan
// cannot do is refused by a message; how many are is counted.
//
//   DTCC_RANDOM_PLANS=20000 DTCC_RANDOM_SEED=3000 dist-random-plans    more, or one of them
//
//===----------------------------------------------------------------------===//

#include "StepFixture.h"
#include "dialects/graph/Origin.h"
#include "passes/dist/Projection.h"
#include <cstdlib>

using namespace dtcc;
using namespace dtcc::dist;

namespace {

int64_t environment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// Draws one plan for a differentiated module.
class PlanMaker {
public:
  PlanMaker(mlir::ModuleOp module, mlir::func::FuncOp step, uint64_t seed)
      : module(module), step(step), random(seed * 0x9e3779b97f4a7c15u + 1) {}

  plan::Plan make() {
    makeMesh();
    plan.zero = pick(4);
    for (const std::string &axis : plan.batchAxes)
      if (!plan.mesh.isTime(axis) && chance(70))
        plan.flatAxes.push_back(axis);
    std::shuffle(plan.flatAxes.begin(), plan.flatAxes.end(), random);
    plan.recompute = static_cast<plan::Recompute>(pick(3));
    bool byOp = chance(30);
    // Some plans split much, some little.
    int64_t often = pick(90) + 10;
    for (mlir::Operation &op : step.getBody().front())
      if (graph::getOrigin(&op) && graph::getPhase(&op) == graph::Phase::Forward && chance(often))
        placeOp(op, byOp);
    bool byState = chance(30);
    for (auto state : module.getOps<graph::StateOp>())
      if (byState && chance(50))
        placeState(state);
    return plan;
  }

private:
  int64_t pick(int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); }
  bool chance(int64_t percent) { return pick(100) < percent; }

  /// Sizes whose product with the micro-batches divides a batch of 8, and any for the model.
  void makeMesh() {
    int64_t ranks = 1, parts = 1;
    std::vector<MeshAxis> axes;
    for (int64_t i = 0, count = 1 + pick(3); i < count; ++i) {
      bool batch = chance(50);
      int64_t size = batch ? int64_t(1) << pick(3) : 1 + pick(4);
      if (ranks * size > 8 || (batch && parts * size > 8))
        continue;
      ranks *= size;
      std::string name = (batch ? "b" : "m") + std::to_string(i);
      axes.push_back({name, size, false});
      if (batch) {
        parts *= size;
        plan.batchAxes.push_back(name);
      } else {
        model.push_back(axes.back());
      }
    }
    if (chance(60)) {
      int64_t slots = std::min<int64_t>(8 / parts, int64_t(1) << pick(3));
      plan.mesh.axes.push_back({"mb", slots, true});
      plan.batchAxes.push_back("mb");
    }
    plan.mesh.axes.insert(plan.mesh.axes.end(), axes.begin(), axes.end());
    std::shuffle(plan.batchAxes.begin(), plan.batchAxes.end(), random);
  }

  void placeOp(mlir::Operation &op, bool recompute) {
    auto factored = mlir::dyn_cast<FactorOpInterface>(op);
    if (!factored)
      return;
    FactorMap map = factored.getFactorMap();
    plan::OpPlan entry{*graph::getOrigin(&op), op.getName().getStringRef().str(), {}, {}, {}};
    for (const MeshAxis &axis : model) {
      int64_t count = map.factors.size(), factor = pick(count + 1);
      if (factor < count && !whyNotAssignable(&op, map, factor)) {
        int64_t size = map.factors[factor].size, split = axis.size;
        for (const std::string &other : entry.factors[factor])
          split *= plan.mesh.find(other)->size;
        // Heads, vocabulary and hidden units may be padded; a plan that pads others is refused.
        if (size == 13 || size == 3 || size == 10 || (size < 8 && size % split == 0))
          entry.factors[factor].push_back(axis.name);
        if (entry.factors[factor].empty())
          entry.factors.erase(factor);
      } else if (!map.linear.empty() && chance(30)) {
        entry.partial.push_back(axis.name);
      }
    }
    if (recompute && chance(20))
      entry.recompute = chance(50);
    plan.ops.push_back(entry);
  }

  void placeState(graph::StateOp state) {
    plan::StatePlan entry{state.getSymName().str(), std::nullopt, std::nullopt};
    if (chance(50))
      entry.zero = pick(4);
    auto shape = mlir::cast<mlir::ShapedType>(state.getType()).getShape();
    if (chance(40)) {
      entry.layout.emplace(shape.size());
      for (const MeshAxis &axis : model)
        if (size_t dim = pick(shape.size() + 1);
            dim < shape.size() && shape[dim] % axis.size == 0 && (*entry.layout)[dim].empty() && axis.size > 1)
          (*entry.layout)[dim].push_back(axis.name);
    }
    plan.states.push_back(entry);
  }

  mlir::ModuleOp module;
  mlir::func::FuncOp step;
  std::mt19937_64 random;
  plan::Plan plan;
  std::vector<MeshAxis> model;
};

struct RandomPlanTest : StepFixture {};

TEST_F(RandomPlanTest, TrainTheSameModel) {
  int64_t first = environment("DTCC_RANDOM_SEED", 1), count = environment("DTCC_RANDOM_PLANS", 1000), applied = 0;
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  for (int64_t seed = first; seed < first + count; ++seed) {
    random.seed(seed);
    load(seed % 4 ? "gpt.mlir" : "mlp.mlir");
    if (seed % 2)
      step.walk([&](graph::UpdateOp update) {
        update.setOptimizerAttr(graph::SgdAttr::get(&context, 0.25, 0, 0, 0, false));
      });
    plan::Plan plan = PlanMaker(*whole, step, seed).make();
    if (llvm::Error error = plan.check())
      FAIL() << "seed " << seed << ": " << llvm::toString(std::move(error)) << "\n" << plan.toJson();
    applied += compare(plan, 9);
    if (HasFailure())
      FAIL() << "again by DTCC_RANDOM_SEED=" << seed << " DTCC_RANDOM_PLANS=1";
  }
  std::cout << applied << " of " << count << " plans compared, the others refused\n";
  if (count >= 100)
    EXPECT_GT(applied, count / 2);
}

} // namespace
