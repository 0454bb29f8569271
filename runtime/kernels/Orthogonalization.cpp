//===- Orthogonalization.cpp - Muon's matrices on processors -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Orthogonalization.h"

#include "runtime/abi/OrthogonalizeWorkspace.h"
#include "runtime/core/HalfFloat.h"
#include "runtime/kernels/Optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dtcc::rt {
namespace {

/// Cells that are worth a thread.
constexpr int64_t grainOfCells = 16384;

float roundToBF16(float value) { return fromBF16(toBF16(value)); }

/// Reads and writes a number of bf16 in either of the types that hold it.
template <typename Held> struct BF16In;
template <> struct BF16In<uint16_t> {
  static float load(uint16_t held) { return fromBF16(held); }
  static uint16_t round(float value) { return toBF16(value); }
};
template <> struct BF16In<float> {
  static float load(float held) { return held; }
  static float round(float value) { return roundToBF16(value); }
};

/// Where blocks of rows of a symmetric product begin, and its end. Four blocks, each of which leaves out the columns
/// behind its rows, have 62 % of the FLOP. Blocks begin at multiples of a strip of rows and of a product's tiles.
std::vector<int64_t> rowsOfSymmetric(int64_t side) {
  constexpr int64_t blocks = 4, least = 512, tile = 64;
  std::vector<int64_t> rows{0};
  if (side >= least)
    for (int64_t i = 1; i < blocks; ++i)
      rows.push_back(side * i / blocks / tile * tile);
  rows.push_back(side);
  return rows;
}

/// Calls `body(i, j)` for the cells i of a matrix, which stand at j in X: X has as many rows as columns or fewer, so a
/// matrix of more stands there transposed.
template <typename Body> void forCells(ThreadTeam &team, int64_t rows, int64_t columns, Body body) {
  if (rows <= columns) {
    team.parallelFor(rows * columns, grainOfCells, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        body(i, i);
    });
    return;
  }
  // As many columns as a line of the cache has cells.
  constexpr int64_t width = 16;
  const int64_t strips = (columns + width - 1) / width;
  team.parallelFor(strips, std::max<int64_t>(1, grainOfCells / (rows * width)), [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = strip * width; column < std::min(columns, (strip + 1) * width); ++column)
          body(row * columns + column, column * rows + row);
  });
}

} // namespace

float orthogonalScale(const OrthogonalizeOptions &options, int64_t rows, int64_t columns) {
  const double ratio = static_cast<double>(rows) / static_cast<double>(columns);
  return static_cast<float>(options.matchRms ? 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns)))
                                             : std::sqrt(std::max(1.0, ratio)));
}

dtcc_dtype fastestTypeOfBF16() {
#if defined(__x86_64__)
  // AMX needs no question of its own: every processor that has it has these too.
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") ? DTCC_BF16 : DTCC_F32;
#else
  return DTCC_F32;
#endif
}

Orthogonalization::Orthogonalization(const OrthogonalizeOptions &options, int64_t rows, int64_t columns,
                                     const VectorKernels &kernels, TeamScratch &scratch, dtcc_dtype held)
    : options(options), rows(rows), columns(columns), kernels(kernels), held(held) {
  const int64_t side = std::min(rows, columns), length = std::max(rows, columns);
  auto product = [&](int64_t n, int64_t k, int64_t rhsRow, int64_t rhsColumn, bool isSymmetric) {
    Product made;
    made.rows = isSymmetric ? rowsOfSymmetric(side) : std::vector<int64_t>{0, side};
    for (size_t i = 0; i + 1 < made.rows.size(); ++i) {
      ProductProblem p;
      p.m = made.rows[i + 1] - made.rows[i], p.n = isSymmetric ? made.rows[i + 1] : n, p.k = k;
      p.type = held, p.outType = DTCC_F32;
      p.lhsStrides[1] = k, p.lhsStrides[2] = 1;
      p.rhsStrides[1] = rhsRow, p.rhsStrides[2] = rhsColumn;
      p.outStrides[1] = n, p.outStrides[2] = 1;
      made.problems.push_back(p);
      made.blocks.emplace_back(p, kernels, scratch);
    }
    return made;
  };
  squareOfX = product(side, length, 1, length, /*isSymmetric=*/true);
  squareOfGram = product(side, side, side, 1, /*isSymmetric=*/true);
  ofX = product(length, side, length, 1, /*isSymmetric=*/false);
}

void Orthogonalization::run(ThreadTeam &team, const TeamScratch &scratch, std::byte *workspace) const {
  if (held == DTCC_BF16)
    runIn<uint16_t>(team, scratch, workspace);
  else
    runIn<float>(team, scratch, workspace);
}

template <typename Held>
void Orthogonalization::runIn(ThreadTeam &team, const TeamScratch &scratch, std::byte *workspace) const {
  using Number = BF16In<Held>;
  const int64_t cells = rows * columns, side = std::min(rows, columns);
  const OrthogonalizeLayout layout(rows, columns, OrthogonalizeOn::Processor);
  auto *matrix = this->matrix(workspace), *sums = reinterpret_cast<float *>(workspace + layout.sums);
  auto *x = reinterpret_cast<Held *>(workspace + layout.x); // where the matrix is
  auto *gram = reinterpret_cast<Held *>(workspace + layout.gram);
  auto *polynomial = reinterpret_cast<Held *>(workspace + layout.polynomial);

  forCells(team, rows, columns, [&](int64_t i, int64_t j) { sums[j] = roundToBF16(matrix[i]); });
  std::array<double, sumSquaresBlocks> partial;
  const auto root = static_cast<float>(std::sqrt(sumSquares(team, kernels, sums, cells, partial)));
  const float norm = std::max(roundToBF16(root), roundToBF16(static_cast<float>(options.eps)));
  team.parallelFor(cells, grainOfCells, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      x[i] = Number::round(sums[i] / norm);
  });

  auto multiply = [&](const Product &product, const Held *lhs, const Held *rhs) {
    for (size_t i = 0; i < product.blocks.size(); ++i) {
      ProductProblem problem = product.problems[i];
      problem.lhs = lhs + product.rows[i] * problem.k, problem.rhs = rhs;
      problem.out = sums + product.rows[i] * problem.outStrides[1];
      product.blocks[i].run(team, scratch, problem);
    }
  };
  // Returns a * from + b * sum of one cell, rounded once.
  auto combined = [](float a, const Held *from, float b, const float *sum) {
    return Number::round((a == 0 ? 0 : a * Number::load(*from)) + b * *sum);
  };
  // Combines all cells of a symmetric product. `sums` lacks those above its blocks, which equal others below.
  auto combineSymmetric = [&](const Product &product, float a, const Held *from, float b, Held *to) {
    constexpr int64_t width = 16; // rows whose sums share a line of the cache
    const int64_t strips = (side + width - 1) / width;
    team.parallelFor(strips, std::max<int64_t>(1, grainOfCells / (side * width)), [&](int64_t begin, int64_t end) {
      for (int64_t first = begin * width, last = std::min(side, end * width); first < last; first += width) {
        const int64_t behind = std::min(first + width, last);
        const int64_t known = *std::upper_bound(product.rows.begin(), product.rows.end(), first);
        for (int64_t i = first; i < behind; ++i)
          for (int64_t j = 0; j < known; ++j)
            to[i * side + j] = combined(a, from + i * side + j, b, sums + i * side + j);
        for (int64_t j = known; j < side; ++j)
          for (int64_t i = first; i < behind; ++i)
            to[i * side + j] = combined(a, from + i * side + j, b, sums + j * side + i);
      }
    });
  };
  const auto a = static_cast<float>(options.a), b = static_cast<float>(options.b), c = static_cast<float>(options.c);
  for (int64_t step = 0; step < options.steps; ++step) {
    multiply(squareOfX, x, x);
    combineSymmetric(squareOfX, 0, gram, 1, gram);
    multiply(squareOfGram, gram, gram);
    combineSymmetric(squareOfGram, b, gram, c, polynomial);
    multiply(ofX, polynomial, x);
    team.parallelFor(cells, grainOfCells, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        x[i] = combined(a, x + i, 1, sums + i);
    });
  }
  const float scale = orthogonalScale(options, rows, columns);
  team.parallelFor(cells, grainOfCells, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      sums[i] = Number::load(x[i]) * scale;
  });
  forCells(team, rows, columns, [&](int64_t i, int64_t j) { matrix[i] = sums[j]; });
}

} // namespace dtcc::rt
