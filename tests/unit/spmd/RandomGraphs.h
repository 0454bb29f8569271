//===- RandomGraphs.h - Random models and machines for searches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests of searches draw a model and a machine for each seed.
//
//   DTCC_RANDOM_GRAPHS=2000 DTCC_RANDOM_SEED=300    more cases, or one of them
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_SPMD_RANDOMGRAPHS_H
#define DTCC_TESTS_UNIT_SPMD_RANDOMGRAPHS_H

#include "StepFixture.h"
#include "TransformerText.h"
#include "dialects/graph/Origin.h"
#include "planner/cluster/ClusterFile.h"
#include "planner/cluster/Machine.h"
#include <cstdlib>

namespace dtcc::spmd {

/// Draws small models and machines by seeds, and reads numbers of cases from the environment.
struct RandomGraphs : StepFixture {
  /// Runs `check` on many seeds, or on that of the environment.
  void forSeeds(int64_t count, llvm::function_ref<void(uint64_t)> check) {
    int64_t first = environment("DTCC_RANDOM_SEED", 0), one = std::getenv("DTCC_RANDOM_SEED") != nullptr;
    count = one ? 1 : environment("DTCC_RANDOM_GRAPHS", count);
    // A model that cannot be placed so is no error here.
    mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
    for (int64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      random.seed(uint32_t(seed) * 2654435761u + 1);
      check(uint64_t(seed));
    }
  }
  int64_t pick(int64_t count) { return int64_t(random() % uint64_t(count)); }
  bool chance(int64_t percent) { return pick(100) < percent; }
  template <typename T> T oneOf(std::initializer_list<T> values) {
    return values.begin()[pick(int64_t(values.size()))];
  }

  /// `tiny`: of few ops, so that all their placements can be tried. `sumsLayers`: the head reads all layers.
  void makeModel(size_t layers, bool tiny = false, bool sumsLayers = false) {
    TransformerText text;
    text.places = !tiny;
    int64_t scale = oneOf<int64_t>({1, 1, 8, 64});
    text.batch = oneOf<int64_t>({4, 8});
    text.sequence = oneOf<int64_t>({4, 6, 128});
    text.heads = oneOf<int64_t>({2, 3, 4}) * scale;
    text.headSize = oneOf<int64_t>({2, 8});
    text.ffn = oneOf<int64_t>({8, 10, 32}) * scale;
    text.vocabulary = oneOf<int64_t>({9, 64, 1000});
    text.biases = !tiny && chance(50);
    text.tied = chance(50);
    text.sumsLayers = sumsLayers;
    std::vector<TransformerText::Layer> kinds;
    for (int64_t i = 0, count = 1 + pick(3); i < count; ++i)
      kinds.push_back(tiny ? TransformerText::Layer::Product : TransformerText::Layer(pick(5)));
    for (size_t i = 0; i < layers; ++i) {
      text.layers.push_back(tiny || chance(90) ? kinds[i % kinds.size()] : TransformerText::Layer(pick(5)));
      size_t other = size_t(pick(int64_t(i) + 1));
      text.sharedWith.push_back(chance(8) && text.layers[other] == text.layers[i] ? other : i);
    }
    parse(text.str());
  }

  cost::Machine makeMachine(int64_t ranks) {
    if (chance(50))
      return cost::Machine::cpu(ranks, 2, 0);
    llvm::Expected<cost::Cluster> cluster =
        cost::readCluster(ranks == 8 ? "2x4xa100" : std::to_string(ranks) + "xh100");
    EXPECT_TRUE(bool(cluster));
    return cost::Machine::of(*cluster);
  }

  /// Calls `make` while no two blocks of the step are alike.
  template <typename Make> auto unfolded(Make make) {
    int64_t number = 0;
    for (mlir::Operation &op : step.front())
      if (graph::getOrigin(&op))
        op.setAttr("test.block", mlir::IntegerAttr::get(mlir::IndexType::get(&context), number++));
    auto result = make();
    for (mlir::Operation &op : step.front())
      op.removeAttr("test.block");
    return result;
  }
};

} // namespace dtcc::spmd

#endif // DTCC_TESTS_UNIT_SPMD_RANDOMGRAPHS_H
