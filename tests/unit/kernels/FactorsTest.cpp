//===- FactorsTest.cpp - Steps of Adafactor against their formula -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Factors.h"
#include "Fixture.h"
#include "runtime/kernels/WholeTensor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dtcc::rt::test {
namespace {

using Shape = std::vector<int64_t>;

int64_t product(const Shape &shape, size_t end) {
  int64_t count = 1;
  for (size_t i = 0; i < end; ++i)
    count *= shape[i];
  return count;
}

/// The direction of the third step in f64, as torch.optim.Adafactor defines it.
std::vector<double> formula(const Shape &shape, const std::vector<std::vector<float>> &gradients, double eps1) {
  const bool isFactored = shape.size() > 1;
  const auto columns = static_cast<size_t>(isFactored ? shape.back() : 1);
  const auto rows = static_cast<size_t>(isFactored ? shape[shape.size() - 2] : 1);
  const size_t cells = gradients[0].size(), matrices = cells / rows / columns;
  std::vector<double> row(cells / columns), column(matrices * columns), direction(cells);
  for (size_t step = 1; step <= gradients.size(); ++step) {
    const double weight = std::pow(static_cast<double>(step), -0.8);
    auto cell = [&](size_t i) { return static_cast<double>(gradients[step - 1][i]) * 0.5; };
    for (size_t r = 0; r < row.size(); ++r) {
      double mean = 0;
      for (size_t c = 0; c < columns; ++c)
        mean += cell(r * columns + c) * cell(r * columns + c) / static_cast<double>(columns);
      row[r] += weight * (mean - row[r]);
    }
    for (size_t k = 0; isFactored && k < column.size(); ++k) {
      double mean = 0;
      for (size_t r = 0; r < rows; ++r) {
        double g = cell((k / columns * rows + r) * columns + k % columns);
        mean += g * g / static_cast<double>(rows);
      }
      column[k] += weight * (mean - column[k]);
    }
    for (size_t i = 0; i < cells; ++i) {
      const size_t r = i / columns, matrix = r / rows;
      double mean = 0;
      for (size_t each = 0; each < rows; ++each)
        mean += row[matrix * rows + each] / static_cast<double>(rows);
      double estimate = isFactored ? row[r] * column[matrix * columns + i % columns] / std::max(mean, eps1) : row[r];
      direction[i] = cell(i) / std::sqrt(std::max(estimate, eps1 * eps1));
    }
  }
  return direction;
}

/// Runs the kernels on the same steps, with the cells of each in runs that end at `cuts`.
std::vector<float> run(const Shape &shape, const std::vector<std::vector<float>> &gradients, float eps1,
                       std::vector<int64_t> cuts, int threads) {
  ThreadTeam team(threads);
  const TensorFactors factors = tensorFactors(shape.data(), static_cast<int64_t>(shape.size()));
  std::vector<float> kept(static_cast<size_t>(factors.rows + factors.columns)), sums(kept.size());
  std::vector<float> means(static_cast<size_t>(factors.rows / factors.columnLength)), direction(gradients[0].size());
  cuts.push_back(factors.cells());
  std::sort(cuts.begin(), cuts.end());
  for (size_t step = 1; step <= gradients.size(); ++step) {
    const float *grad = gradients[step - 1].data();
    auto forEachRun = [&](auto body) {
      for (int64_t begin = 0; int64_t end : cuts)
        if (int64_t from = std::exchange(begin, end); from < end)
          body(TensorCells{factors, from, end - from}, from);
    };
    std::fill(sums.begin(), sums.end(), 0.0f);
    forEachRun([&](const TensorCells &cells, int64_t from) {
      addFactorSquares(team, vectorKernels(), cells, 0.5f, grad + from, sums.data());
    });
    updateFactors(factors, static_cast<float>(std::pow(static_cast<double>(step), -0.8)), sums.data(), kept.data());
    meansOfRows(team, factors, eps1, kept.data(), means);
    forEachRun([&](const TensorCells &cells, int64_t from) {
      factoredDirection(team, cells, eps1, 0.5f, kept.data(), means, grad + from, direction.data() + from);
    });
  }
  return direction;
}

TEST(Factors, GiveTheDirectionOfAdafactor) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 1);
  for (const Shape &shape : {Shape{150, 200}, Shape{200, 3}, Shape{1, 70}, Shape{5, 4, 3, 3}, Shape{37}, Shape{}}) {
    std::vector<std::vector<float>> gradients(3, std::vector<float>(static_cast<size_t>(product(shape, shape.size()))));
    for (std::vector<float> &each : gradients)
      for (float &g : each)
        g = normal(random);
    // A row without gradients.
    if (shape.size() == 2 && shape[0] > 1)
      for (std::vector<float> &each : gradients)
        std::fill_n(each.begin(), shape[1], 0.0f);
    for (double eps1 : {1e-7, 0.3}) {
      std::vector<double> want = formula(shape, gradients, eps1);
      std::vector<float> whole = run(shape, gradients, static_cast<float>(eps1), {}, 1);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(whole[i], want[i], 2e-6 * std::max(1.0, std::abs(want[i]))) << "cell " << i;
      EXPECT_EQ(whole, run(shape, gradients, static_cast<float>(eps1), {}, 3));
      const auto cells = static_cast<int64_t>(want.size());
      std::vector<float> cut =
          run(shape, gradients, static_cast<float>(eps1), {cells / 3, cells / 3 + 1, cells / 2}, 2);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(cut[i], want[i], 4e-6 * std::max(1.0, std::abs(want[i]))) << "cell " << i;
    }
  }
}

TEST(Factors, StepIsRelativeToTheParameter) {
  // rms(p) = 2, rms(u) = 3.
  DirectionStep step = rmsStep({1e-3, 1}, 1e-2, 0.1, 4, 10, 40, 90);
  EXPECT_DOUBLE_EQ(step.kept, 1 - 1e-3);
  EXPECT_DOUBLE_EQ(step.size, 2 * 1e-2 / 3);
  // The rate is at most 1 / sqrt(step), a parameter of zeros steps by eps2, and a small u is not enlarged.
  EXPECT_DOUBLE_EQ(rmsStep({1e-3, 1}, 10, 0, 4, 10, 0, 0.1).size, 1e-3 * 0.5);
  EXPECT_DOUBLE_EQ(rmsStep({1e-3, 2}, 1e-2, 0, 4, 10, 40, 160).size, 2 * 1e-2 / 2);
}

} // namespace
} // namespace dtcc::rt::test
