//===- MatmulTest.cpp - Matrix products against their definition -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Matmul.h"

#include "tests/unit/kernels/Fixture.h"

#include <thread>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

/// Strides of a product's operands, by the order of their dimensions in memory.
struct Layout {
  const char *name;
  std::vector<int> lhs, rhs, out;
  int64_t gap;
};

const Layout layouts[] = {
    {"rows", {0, 1, 2}, {0, 1, 2}, {0, 1, 2}, 0},
    {"rows with gaps", {0, 1, 2}, {0, 1, 2}, {0, 1, 2}, 5},
    {"transposed rhs", {0, 1, 2}, {0, 2, 1}, {0, 1, 2}, 0},
    {"transposed lhs", {0, 2, 1}, {0, 1, 2}, {0, 1, 2}, 3},
    {"both transposed", {0, 2, 1}, {0, 2, 1}, {0, 1, 2}, 0},
    {"transposed out", {0, 1, 2}, {0, 1, 2}, {0, 2, 1}, 0},
    {"batch innermost but one", {1, 0, 2}, {1, 0, 2}, {1, 0, 2}, 0},
};

struct Sizes {
  int64_t g, m, n, k;
};

struct Trial {
  ProductProblem p;
  Box lhs, rhs, bias, out, start;
  std::vector<double> want;

  Trial(const Sizes &s, const Layout &layout, bool biased, bool accumulate, bool broadcastRhs = false) {
    std::mt19937 random(static_cast<unsigned>(s.m * 7 + s.n * 3 + s.k));
    lhs = Box({s.g, s.m, s.k}, layout.lhs, layout.gap);
    rhs = Box({broadcastRhs ? 1 : s.g, s.k, s.n}, layout.rhs, layout.gap);
    out = Box({s.g, s.m, s.n}, layout.out, layout.gap);
    bias = Box::dense({s.n});
    for (Box *box : {&lhs, &rhs, &out, &bias})
      box->fillRandom(random);
    start = out;
    p.g = s.g, p.m = s.m, p.n = s.n, p.k = s.k;
    auto strides = [](const Box &box, int64_t (&to)[3]) {
      for (size_t i = 0; i < 3; ++i)
        to[i] = box.sizes[i] == 1 ? 0 : box.strides[i];
    };
    strides(lhs, p.lhsStrides);
    strides(rhs, p.rhsStrides);
    strides(out, p.outStrides);
    p.accumulate = accumulate;
    p.bias = biased ? bias.data() : nullptr;
    attach();
    for (int64_t g = 0; g < s.g; ++g)
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          double sum = (accumulate ? out.at(g, i, j) : 0.0) + (biased ? bias.at(j) : 0.0);
          for (int64_t x = 0; x < s.k; ++x)
            sum += static_cast<double>(lhs.at(g, i, x)) * rhs.at(broadcastRhs ? 0 : g, x, j);
          want.push_back(sum);
        }
  }
  void attach() {
    p.lhs = lhs.data(), p.rhs = rhs.data(), p.out = out.data();
    if (p.bias)
      p.bias = bias.data();
  }
  void check() {
    double tolerance = 1e-6 * std::sqrt(static_cast<double>(p.k) + 1) * 4;
    size_t i = 0, wrong = 0;
    out.forEach([&](size_t offset) {
      if (std::abs(out.memory[offset] - want[i]) > tolerance && wrong++ < 3)
        ADD_FAILURE() << "element " << i << ": " << out.memory[offset] << " instead of " << want[i];
      ++i;
    });
    EXPECT_TRUE(out.guarded());
  }
};

const Sizes sizesList[] = {{1, 1, 1, 1},      {1, 1, 70, 33},  {1, 33, 1, 17},  {1, 5, 3, 1},      {1, 64, 48, 96},
                           {1, 130, 65, 300}, {3, 17, 19, 23}, {4, 32, 16, 64}, {1, 260, 1024, 9}, {1, 530, 40, 200}};

/// Calls `check` with each problem of all layouts and sizes, with and without a bias, that overwrites or adds.
template <typename Fn> void forEachTrial(Fn check) {
  for (const Layout &layout : layouts)
    for (const Sizes &s : sizesList)
      for (bool biased : {false, true})
        for (bool accumulate : {false, true}) {
          SCOPED_TRACE(testing::Message() << layout.name << " " << s.g << "x" << s.m << "x" << s.n << "x" << s.k
                                          << " bias " << biased << " accumulate " << accumulate);
          Trial trial(s, layout, biased, accumulate);
          check(trial);
        }
}

TEST(Matmul, MatchesItsDefinition) {
  ThreadTeam team(2);
  forEachTrial([&](Trial &trial) {
    TeamScratch scratch(2);
    Matmul matmul(trial.p, vectorKernels(), scratch);
    matmul.run(team, scratch, trial.p);
    trial.check();
    // A second run, with other addresses, gives the same result.
    trial.out = trial.start;
    Box moved = trial.lhs;
    trial.lhs.fill(0);
    trial.attach();
    trial.p.lhs = moved.data();
    matmul.run(team, scratch, trial.p);
    trial.check();
  });
}

TEST(Matmul, SharesOneRightOperandAmongABatch) {
  for (const Layout &layout : layouts) {
    SCOPED_TRACE(layout.name);
    Trial trial({3, 20, 24, 40}, layout, false, false, /*broadcastRhs=*/true);
    ThreadTeam team(1);
    TeamScratch scratch(1);
    Matmul matmul(trial.p, vectorKernels(), scratch);
    matmul.run(team, scratch, trial.p);
    trial.check();
  }
}

TEST(Matmul, PacksOperandsWhoseRowsCrowdIntoFewSetsOfCaches) {
  if (!hasOneDnn())
    GTEST_SKIP() << "oneDNN is not installed";
  TeamScratch scratch(2);
  ThreadTeam team(2);
  auto methodOf = [&](const Trial &trial) { return Matmul(trial.p, vectorKernels(), scratch).method(); };
  const Layout &rows = layouts[0], &transposedRhs = layouts[2];
  EXPECT_EQ(methodOf(Trial({1, 40, 1024, 96}, rows, false, false)), ProductMethod::Own);
  EXPECT_EQ(methodOf(Trial({1, 40, 1000, 96}, rows, false, false)), ProductMethod::OneDnn);
  EXPECT_EQ(methodOf(Trial({1, 520, 1024, 96}, transposedRhs, false, false)), ProductMethod::OneDnn);
  for (const Layout &layout : {rows, layouts[3]})
    for (bool accumulate : {false, true}) {
      // With parts: two sums of 528 and one of the rest.
      for (int64_t k : {96, 1050}) {
        SCOPED_TRACE(testing::Message() << layout.name << " " << k << " accumulate " << accumulate);
        Trial trial({1, 520, 1024 - layout.gap, k}, layout, true, accumulate);
        Matmul matmul(trial.p, vectorKernels(), scratch);
        EXPECT_EQ(matmul.method(), ProductMethod::OneDnnPacked);
        matmul.run(team, scratch, trial.p);
        trial.check();
      }
    }
}

TEST(Matmul, EveryMethodIsObeyedAndRepeatsItsBits) {
  ThreadTeam team(2);
  TeamScratch scratch(2);
  int library = 0;
  for (const Layout &layout : layouts)
    for (const auto &[method, name] : productMethodNames)
      for (bool accumulate : {false, true}) {
        SCOPED_TRACE(testing::Message() << layout.name << " " << name << " accumulate " << accumulate);
        Trial trial({1, 70, 65, 1100}, layout, true, accumulate);
        Matmul matmul(trial.p, vectorKernels(), scratch, method);
        // What the library cannot compute is ours.
        EXPECT_TRUE(matmul.method() == method || matmul.method() == ProductMethod::Own);
        library += matmul.method() != ProductMethod::Own;
        matmul.run(team, scratch, trial.p);
        trial.check();
        Box first = trial.out;
        trial.out = trial.start;
        trial.attach();
        matmul.run(team, scratch, trial.p);
        EXPECT_TRUE(first.sameBits(trial.out));
      }
  if (hasOneDnn())
    EXPECT_GT(library, 0);
}

TEST(Matmul, PartsOfABlasAreTheWholeProduct) {
  if (!sgemmOf(BlasLibrary::OpenBlas))
    GTEST_SKIP() << "OpenBLAS is not installed";
  // Four threads cut rows and columns, and of small products some have no part.
  ThreadTeam team(4);
  TeamScratch scratch(4);
  int taken = 0;
  forEachTrial([&](Trial &trial) {
    Matmul matmul(trial.p, vectorKernels(), scratch, ProductMethod::OpenBlas);
    taken += matmul.method() == ProductMethod::OpenBlas;
    matmul.run(team, scratch, trial.p);
    trial.check();
  });
  EXPECT_GT(taken, 200);
}

TEST(Matmul, RoundsLongSumsAsSumsOfParts) {
  if (!hasOneDnn())
    GTEST_SKIP() << "oneDNN is not installed";
  ThreadTeam team(2);
  TeamScratch scratch(2);
  for (const Layout &layout : layouts)
    for (int64_t k : {1025, 2048, 3000, 30000})
      for (bool accumulate : {false, true}) {
        SCOPED_TRACE(testing::Message() << layout.name << " " << k << " accumulate " << accumulate);
        Trial trial({2, 8, 17, k}, layout, true, accumulate);
        Matmul matmul(trial.p, vectorKernels(), scratch);
        matmul.run(team, scratch, trial.p);
        double squares = 0, errors = 0;
        size_t i = 0;
        trial.out.forEach([&](size_t offset) {
          squares += trial.want[i] * trial.want[i];
          errors += std::pow(trial.out.memory[offset] - trial.want[i++], 2);
        });
        // One running sum of 30,000 is off by 3e-6.
        EXPECT_LT(std::sqrt(errors / squares), 9e-7);
        EXPECT_TRUE(trial.out.guarded());
      }
}

TEST(Matmul, RunsOnSeveralRanksAtOnce) {
  Trial one({1, 96, 80, 64}, layouts[0], true, false), two({1, 70, 33, 90}, layouts[2], false, true);
  auto rank = [](Trial *trial, int threads) {
    ThreadTeam team(threads);
    TeamScratch scratch(threads);
    Matmul matmul(trial->p, vectorKernels(), scratch);
    for (int i = 0; i < 20; ++i) {
      trial->out = trial->start;
      matmul.run(team, scratch, trial->p);
    }
  };
  std::thread other(rank, &one, 1);
  rank(&two, 2);
  other.join();
  one.check();
  two.check();
}

TEST(OwnProduct, RoundsLongSumsAsSumsOfBlocks) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    Trial trial({1, 8, 16, 30000}, layouts[0], false, false);
    ThreadTeam team(1);
    TeamScratch scratch(1);
    scratch.reserve(productScratch * sizeof(float));
    ownProduct(team, kernels, trial.p, scratch);
    double squares = 0, errors = 0;
    for (size_t i = 0; i < trial.want.size(); ++i) {
      squares += trial.want[i] * trial.want[i];
      errors += std::pow(trial.out.memory[i] - trial.want[i], 2);
    }
    // One running sum is off by 3e-6.
    EXPECT_LT(std::sqrt(errors / squares), 7e-7);
  });
}

TEST(OwnProduct, MatchesItsDefinitionOnEveryInstructionSet) {
  for (const Layout &layout : layouts)
    for (const Sizes &s : sizesList) {
      Trial trial(s, layout, true, true);
      forEachInstructionSet([&](const VectorKernels &kernels) {
        Box first;
        for (int threads : {1, 2, 3}) {
          trial.out = trial.start;
          trial.attach();
          ThreadTeam team(threads);
          TeamScratch scratch(threads);
          scratch.reserve(productScratch * sizeof(float));
          ownProduct(team, kernels, trial.p, scratch);
          trial.check();
          if (threads == 1)
            first = trial.out;
          EXPECT_TRUE(first.sameBits(trial.out));
        }
      });
    }
}

} // namespace
