//===- OrthogonalizationTest.cpp - Steps of Newton and Schulz -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against the polynomial in f64, on matrices whose singular values are alike: five
// steps multiply what is small by up to 480, and would show roundings alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Orthogonalization.h"
#include "runtime/abi/OrthogonalizeWorkspace.h"
#include "runtime/core/HalfFloat.h"

#include "tests/unit/kernels/Fixture.h"

#include <cmath>

using namespace dtcc;
using namespace dtcc::rt;
using namespace dtcc::rt::test;

namespace {

/// Row-major.
struct Matrix {
  size_t rows, columns;
  std::vector<double> cells = std::vector<double>(rows * columns);
  double &at(size_t i, size_t j) { return cells[i * columns + j]; }
  double at(size_t i, size_t j) const { return cells[i * columns + j]; }
};

Matrix transpose(const Matrix &x) {
  Matrix y{x.columns, x.rows};
  for (size_t i = 0; i < x.rows; ++i)
    for (size_t j = 0; j < x.columns; ++j)
      y.at(j, i) = x.at(i, j);
  return y;
}

Matrix multiply(const Matrix &x, const Matrix &y) {
  Matrix z{x.rows, y.columns};
  for (size_t i = 0; i < x.rows; ++i)
    for (size_t k = 0; k < x.columns; ++k)
      for (size_t j = 0; j < y.columns; ++j)
        z.at(i, j) += x.at(i, k) * y.at(k, j);
  return z;
}

/// X = aX + (bA + cA^2)X with A = XX^T, from X over its norm, without its factor for the shape.
Matrix orthogonalized(Matrix x, const OrthogonalizeOptions &options) {
  const bool turned = x.rows > x.columns;
  if (turned)
    x = transpose(x);
  double squares = 0;
  for (double cell : x.cells)
    squares += cell * cell;
  for (double &cell : x.cells)
    cell /= std::max(std::sqrt(squares), options.eps);
  for (int64_t step = 0; step < options.steps; ++step) {
    Matrix gram = multiply(x, transpose(x)), polynomial = multiply(gram, gram);
    for (size_t i = 0; i < gram.cells.size(); ++i)
      polynomial.cells[i] = options.b * gram.cells[i] + options.c * polynomial.cells[i];
    Matrix next = multiply(polynomial, x);
    for (size_t i = 0; i < x.cells.size(); ++i)
      x.cells[i] = options.a * x.cells[i] + next.cells[i];
  }
  return turned ? transpose(x) : x;
}

/// Cells near 1 on the diagonal and small ones beside it.
Matrix sample(size_t rows, size_t columns) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 0.05);
  Matrix x{rows, columns};
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      x.at(i, j) = static_cast<float>(3 * ((i == j) + normal(random)));
  return x;
}

Matrix run(const Matrix &x, const OrthogonalizeOptions &options, dtcc_dtype held) {
  auto rows = static_cast<int64_t>(x.rows), columns = static_cast<int64_t>(x.columns);
  constexpr int threads = 2;
  ThreadTeam team(threads);
  TeamScratch scratch(threads);
  Orthogonalization steps(options, rows, columns, vectorKernels(), scratch, held);
  const int64_t bytes = OrthogonalizeLayout(rows, columns, OrthogonalizeOn::Processor).bytes;
  std::vector<float> memory(static_cast<size_t>(bytes) / sizeof(float) + 16);
  auto *workspace = reinterpret_cast<std::byte *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  float *matrix = steps.matrix(workspace);
  std::copy(x.cells.begin(), x.cells.end(), matrix);
  steps.run(team, scratch, workspace);
  Matrix y{x.rows, x.columns};
  std::copy_n(matrix, y.cells.size(), y.cells.begin());
  return y;
}

/// The types that may hold numbers of bf16.
class Orthogonalizations : public testing::TestWithParam<dtcc_dtype> {};

TEST_P(Orthogonalizations, AreThePolynomialInF64) {
  for (auto [rows, columns] : {std::pair<size_t, size_t>{12, 12}, {12, 40}, {40, 12}, {40, 37}, {1, 5}, {5, 1}}) {
    Matrix x = sample(rows, columns), want = orthogonalized(x, {}), got = run(x, {}, GetParam());
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns)));
    for (size_t i = 0; i < x.cells.size(); ++i)
      EXPECT_NEAR(got.cells[i], scale * want.cells[i], 0.06 * scale) << rows << " x " << columns << ", cell " << i;
  }
}

/// Symmetric products of large matrices have what stands above their blocks from what stands below.
TEST_P(Orthogonalizations, OfLargeMatricesAreThePolynomialToo) {
  OrthogonalizeOptions options;
  options.steps = 1;
  for (auto [rows, columns] : {std::pair<size_t, size_t>{530, 520}, {512, 512}}) {
    Matrix x = sample(rows, columns), want = orthogonalized(x, options), got = run(x, options, GetParam());
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns)));
    double off = 0, all = 0;
    for (size_t i = 0; i < x.cells.size(); ++i)
      off += std::pow(got.cells[i] - scale * want.cells[i], 2), all += std::pow(scale * want.cells[i], 2);
    EXPECT_LT(std::sqrt(off / all), 5e-3) << rows << " x " << columns;
  }
}

TEST_P(Orthogonalizations, MatchTheSizeOfAdamsUpdatesOnDemand) {
  OrthogonalizeOptions options;
  options.matchRms = true;
  Matrix x = sample(12, 40), plain = run(x, {}, GetParam()), matched = run(x, options, GetParam());
  for (size_t i = 0; i < x.cells.size(); ++i)
    EXPECT_NEAR(matched.cells[i], 0.2 * std::sqrt(40.0) * plain.cells[i], 1e-6);
}

TEST_P(Orthogonalizations, OfZerosAreZero) {
  for (double cell : run(Matrix{6, 4}, {}, GetParam()).cells)
    EXPECT_EQ(cell, 0);
}

/// The scale of a square matrix is 1.
TEST_P(Orthogonalizations, RoundToBF16) {
  for (double cell : run(sample(24, 24), {}, GetParam()).cells)
    EXPECT_EQ(static_cast<float>(cell), fromBF16(toBF16(static_cast<float>(cell))));
}

INSTANTIATE_TEST_SUITE_P(Held, Orthogonalizations, testing::Values(DTCC_BF16, DTCC_F32),
                         [](const auto &info) { return info.param == DTCC_BF16 ? "InBF16" : "InF32"; });

} // namespace
