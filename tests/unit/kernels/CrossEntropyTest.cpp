//===- CrossEntropyTest.cpp - Sharded cross entropy against its definition -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/CrossEntropy.h"
#include "runtime/core/HalfFloat.h"

#include "tests/unit/kernels/Fixture.h"

#include <algorithm>
#include <limits>

using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

struct Case {
  int64_t rows, classes, shards, shardColumns;
  bool ignore;
};

/// Runs all steps over the shards of one case as the ranks would.
void runCase(const Case &c, const VectorKernels &kernels, int threads, bool wideLabels, bool inPlace) {
  std::mt19937 random(static_cast<unsigned>(c.rows + c.classes));
  std::normal_distribution<float> normal(0, 4);
  auto n = [](int64_t x) { return static_cast<size_t>(x); };
  const int64_t stride = c.shardColumns + 3;
  std::vector<std::vector<float>> logits(n(c.shards), std::vector<float>(n(c.rows * stride), 1e30f));
  std::vector<std::vector<double>> whole(n(c.rows), std::vector<double>(n(c.classes)));
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.classes; ++j) {
      float value = normal(random);
      whole[n(i)][n(j)] = value;
      logits[n(j / c.shardColumns)][n(i * stride + j % c.shardColumns)] = value;
    }
  // Padding columns and the gaps between rows hold 1e30: nobody may read them.
  std::vector<int64_t> labels(n(c.rows));
  std::vector<int32_t> narrow(n(c.rows));
  IgnoredLabels ignored{c.ignore, -100};
  for (int64_t i = 0; i < c.rows; ++i) {
    labels[n(i)] = c.ignore && i % 3 == 1 ? -100 : static_cast<int64_t>(random() % static_cast<unsigned>(c.classes));
    narrow[n(i)] = static_cast<int32_t>(labels[n(i)]);
  }
  Integers given{wideLabels ? static_cast<const void *>(labels.data()) : narrow.data(), c.rows, 1, wideLabels};

  ThreadTeam team(threads);
  std::vector<float> gmax(n(c.rows), -std::numeric_limits<float>::infinity()), sum(n(c.rows), 0), target(n(c.rows), 0);
  std::vector<std::vector<float>> maxes, sums;
  for (int64_t shard = 0; shard < c.shards; ++shard) {
    std::vector<float> rowmax(n(c.rows)), rowsum(n(c.rows)), here(n(c.rows));
    crossEntropyStats(team, kernels, {c.rows, c.shardColumns, shard * c.shardColumns, c.classes},
                      logits[n(shard)].data(), stride, given, {rowmax.data()}, {rowsum.data()}, {here.data()});
    for (int64_t i = 0; i < c.rows; ++i) {
      gmax[n(i)] = std::max(gmax[n(i)], rowmax[n(i)]);
      target[n(i)] += here[n(i)];
    }
    maxes.push_back(rowmax);
    sums.push_back(rowsum);
  }
  for (int64_t shard = 0; shard < c.shards; ++shard) {
    crossEntropyMerge(c.rows, {maxes[n(shard)].data()}, {gmax.data()}, {sums[n(shard)].data()});
    for (int64_t i = 0; i < c.rows; ++i)
      sum[n(i)] += sums[n(shard)][n(i)];
  }
  std::vector<float> lse(n(c.rows));
  float loss = 100, count = 7;
  crossEntropyLoss(c.rows, {gmax.data()}, {sum.data()}, {target.data()}, given, ignored, true, {lse.data()}, loss,
                   count);

  double wantLoss = 100, wantCount = 7;
  for (int64_t i = 0; i < c.rows; ++i) {
    double total = 0, largest = *std::max_element(whole[n(i)].begin(), whole[n(i)].end());
    for (double x : whole[n(i)])
      total += std::exp(x - largest);
    double want = largest + std::log(total);
    EXPECT_NEAR(lse[n(i)], want, 1e-6 * (1 + std::abs(want)));
    if (labels[n(i)] == -100)
      continue;
    wantLoss += want - whole[n(i)][n(labels[n(i)])];
    wantCount += 1;
  }
  EXPECT_NEAR(loss, wantLoss, 1e-6 * wantLoss);
  EXPECT_EQ(count, wantCount);

  for (int64_t shard = 0; shard < c.shards; ++shard) {
    std::vector<float> grad(n(c.rows * stride), 1e30f), &input = logits[n(shard)];
    float *to = inPlace ? input.data() : grad.data();
    crossEntropyGrad(team, kernels, {c.rows, c.shardColumns, shard * c.shardColumns, c.classes}, input.data(), stride,
                     given, {lse.data()}, ignored, to, stride);
    for (int64_t i = 0; i < c.rows; ++i)
      for (int64_t j = 0; j < stride; ++j) {
        float got = to[i * stride + j];
        int64_t column = shard * c.shardColumns + j;
        if (j >= c.shardColumns) {
          EXPECT_EQ(got, 1e30f) << "written past row " << i;
          continue;
        }
        double want = 0;
        if (column < c.classes && labels[n(i)] != -100)
          want = std::exp(whole[n(i)][n(column)] - lse[n(i)]) - (column == labels[n(i)] ? 1 : 0);
        ASSERT_NEAR(got, want, 3e-7) << "row " << i << " class " << column;
      }
  }
}

TEST(CrossEntropy, RoundsGradientsToHalvesAsTheyAreStored) {
  ThreadTeam team(2);
  auto n = [](int64_t i) { return static_cast<size_t>(i); };
  const int64_t rows = 3, classes = 37, stride = 40;
  std::vector<float> logits(n(rows * classes)), wide(logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(i % 11) / 3 - 2;
  const std::vector<int64_t> labels = {5, -100, 36};
  std::vector<float> lse = {3.1f, 3.2f, 3.3f};
  const Integers given{labels.data(), rows, 1, true};
  const ClassShard shard{rows, classes, 0, classes};
  crossEntropyGrad(team, vectorKernels(), shard, logits.data(), classes, given, {lse.data()}, {true, -100}, wide.data(),
                   classes);
  for (auto [type, narrow] : {std::pair(DTCC_BF16, &toBF16), std::pair(DTCC_F16, &toF16)}) {
    std::vector<uint16_t> halves(n(rows * stride), 0xabcd);
    crossEntropyGrad(team, vectorKernels(), shard, logits.data(), classes, given, {lse.data()}, {true, -100},
                     halves.data(), stride, type);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < stride; ++j)
        EXPECT_EQ(halves[n(i * stride + j)], j < classes ? narrow(wide[n(i * classes + j)]) : 0xabcd) << i << ' ' << j;
  }
}

TEST(CrossEntropy, MatchesItsDefinition) {
  const Case cases[] = {
      {1, 1, 1, 1, false},   {5, 10, 1, 10, false},    {9, 1031, 1, 1040, true}, {4, 100, 3, 40, true},
      {7, 33, 4, 16, false}, {3, 3000, 2, 1504, true}, {6, 17, 1, 17, true},
  };
  for (const Case &c : cases)
    forEachInstructionSet([&](const VectorKernels &kernels) {
      SCOPED_TRACE(testing::Message() << c.rows << " rows of " << c.classes << " classes in " << c.shards);
      runCase(c, kernels, 1, true, false);
      runCase(c, kernels, 2, false, true);
    });
}

/// A logarithm of a sum near 40 is rounded by up to 1.9e-6 in f32, and every probability of the row would be that far
/// off, on any number of shards.
void expectPrecise(const VectorKernels &kernels, int64_t shards) {
  auto n = [](int64_t x) { return static_cast<size_t>(x); };
  const int64_t rows = 4, classes = 53, columns = (classes + shards - 1) / shards;
  std::vector<float> logits(n(rows * columns * shards), 1e30f), grad(logits.size());
  std::vector<double> sums(n(rows), 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < classes; ++j) {
      int64_t cell = i * classes + j;
      float value = logits[n(i * columns * shards + j)] = 40 - static_cast<float>(cell * cell % 31) / 5;
      sums[n(i)] += std::exp(double(value) - 40);
    }
  const std::vector<int64_t> labels = {5, -100, 36, 0};
  const Integers given{labels.data(), rows, 1, true};
  ThreadTeam team(2);
  std::vector<std::vector<float>> maxes, parts;
  std::vector<float> top(n(rows), -std::numeric_limits<float>::infinity()), sum(n(rows), 0), target(n(rows), 0);
  auto shardOf = [&](int64_t shard) { return ClassShard{rows, columns, shard * columns, classes}; };
  for (int64_t shard = 0; shard < shards; ++shard) {
    std::vector<float> rowmax(n(rows)), rowsum(n(rows)), here(n(rows));
    crossEntropyStats(team, kernels, shardOf(shard), logits.data() + shard * columns, columns * shards, given,
                      {rowmax.data()}, {rowsum.data()}, {here.data()});
    for (int64_t i = 0; i < rows; ++i) {
      top[n(i)] = std::max(top[n(i)], rowmax[n(i)]);
      target[n(i)] += here[n(i)];
    }
    maxes.push_back(rowmax);
    parts.push_back(rowsum);
  }
  for (int64_t shard = 0; shard < shards; ++shard) {
    crossEntropyMerge(rows, {maxes[n(shard)].data()}, {top.data()}, {parts[n(shard)].data()});
    for (int64_t i = 0; i < rows; ++i)
      sum[n(i)] += parts[n(shard)][n(i)];
  }
  std::vector<double> lse(n(rows));
  const RowLogs logs{lse.data(), 1, /*wide=*/true};
  float loss = 0, count = 0;
  crossEntropyLoss(rows, {top.data()}, {sum.data()}, {target.data()}, given, {true, -100}, false, logs, loss, count);
  for (int64_t shard = 0; shard < shards; ++shard)
    crossEntropyGrad(team, kernels, shardOf(shard), logits.data() + shard * columns, columns * shards, given, logs,
                     {true, -100}, grad.data() + shard * columns, columns * shards);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < classes; ++j) {
      double share = std::exp(double(logits[n(i * columns * shards + j)]) - 40) / sums[n(i)], hit = j == labels[n(i)];
      double want = labels[n(i)] == -100 ? 0 : share - hit;
      EXPECT_NEAR(grad[n(i * columns * shards + j)], want, 3e-7 * share + 6e-8 * hit) << i << ' ' << j;
    }
}

TEST(CrossEntropy, KeepsGradientsOfLargeLogitsPrecise) {
  forEachInstructionSet([&](const VectorKernels &kernels) {
    for (int64_t shards : {1, 2, 3})
      expectPrecise(kernels, shards);
  });
}

TEST(CrossEntropy, CountsNothingWhenAllLabelsAreIgnored) {
  float logits[] = {1, 2, 3, 4, 5, 6};
  int64_t labels[] = {-100, -100};
  float rowmax[2], rowsum[2], target[2], lse[2], loss = 5, count = 5;
  ThreadTeam team(1);
  Integers given{labels, 2, 1, true};
  crossEntropyStats(team, vectorKernels(), {2, 3, 0, 3}, logits, 3, given, {rowmax}, {rowsum}, {target});
  EXPECT_EQ(target[0], 0);
  crossEntropyLoss(2, {rowmax}, {rowsum}, {target}, given, {true, -100}, false, {lse}, loss, count);
  EXPECT_EQ(loss, 0);
  EXPECT_EQ(count, 0);
  crossEntropyGrad(team, vectorKernels(), {2, 3, 0, 3}, logits, 3, given, {lse}, {true, -100}, logits, 3);
  for (float g : logits)
    EXPECT_EQ(g, 0);
}

TEST(CrossEntropy, GivesTheSameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const int64_t rows = 37, classes = 2001;
  std::vector<float> logits(rows * classes);
  for (float &x : logits)
    x = normal(random);
  std::vector<int64_t> labels(rows, 5);
  std::vector<float> first;
  for (int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    std::vector<float> rowmax(rows), rowsum(rows), target(rows), lse(rows), grad(rows * classes);
    float loss = 0, count = 0;
    Integers given{labels.data(), rows, 1, true};
    crossEntropyStats(team, vectorKernels(), {rows, classes, 0, classes}, logits.data(), classes, given,
                      {rowmax.data()}, {rowsum.data()}, {target.data()});
    crossEntropyLoss(rows, {rowmax.data()}, {rowsum.data()}, {target.data()}, given, {}, false, {lse.data()}, loss,
                     count);
    crossEntropyGrad(team, vectorKernels(), {rows, classes, 0, classes}, logits.data(), classes, given, {lse.data()},
                     {}, grad.data(), classes);
    grad.push_back(loss);
    if (threads == 1)
      first = grad;
    EXPECT_EQ(first, grad);
  }
}

} // namespace
