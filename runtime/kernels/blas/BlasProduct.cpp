//===- BlasProduct.cpp - Matrix products by a BLAS -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/blas/BlasProduct.h"

#include <algorithm>
#include <limits>

namespace dtcc::rt {
namespace {

/// Rows and columns of the parts of a product.
struct Grid {
  int64_t rows = 1, columns = 1;
};

/// One part a thread, with as few cells of the operands in each as that allows.
Grid gridOf(const ProductProblem &p, int64_t threads) {
  Grid best{1, threads};
  auto cells = [&](Grid grid) { return p.m / grid.rows + p.n / grid.columns; };
  for (int64_t rows = 2; rows <= threads; ++rows)
    if (Grid grid{rows, threads / rows}; threads % rows == 0 && cells(grid) < cells(best))
      best = grid;
  return best;
}

/// The cells [begin, end) of part `index` of `count`, in whole lines of caches.
struct Span {
  int64_t begin, end;
  Span(int64_t cells, int64_t index, int64_t count) {
    constexpr int64_t line = 16;
    const int64_t each = ((cells + count - 1) / count + line - 1) / line * line;
    begin = std::min(index * each, cells), end = std::min(begin + each, cells);
  }
  int size() const { return static_cast<int>(end - begin); }
};

/// A matrix as BLAS takes it: transposed if its columns lie apart.
struct BlasOperand {
  static constexpr int asItLies = 111, transposed = 112;
  const float *cells;
  int order, leading;

  BlasOperand(const void *base, const int64_t (&strides)[3], int64_t g, int64_t row, int64_t column)
      : cells(static_cast<const float *>(base) + g * strides[0] + row * strides[1] + column * strides[2]),
        order(strides[2] == 1 ? asItLies : transposed),
        leading(static_cast<int>(strides[2] == 1 ? strides[1] : strides[2])) {}
};

/// Puts the bias into the cells of a part, or adds it to them.
void addBias(const ProductProblem &p, float *out, Span rows, Span columns) {
  for (int64_t i = rows.begin; i < rows.end; ++i)
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      float &cell = out[i * p.outStrides[1] + j];
      cell = p.accumulate ? cell + p.bias[j] : p.bias[j];
    }
}

void computePart(Sgemm sgemm, const ProductProblem &p, int64_t g, Span rows, Span columns) {
  constexpr int rowMajor = 101;
  if (rows.size() == 0 || columns.size() == 0)
    return;
  float *out = static_cast<float *>(p.out) + g * p.outStrides[0];
  if (p.bias)
    addBias(p, out, rows, columns);
  const BlasOperand lhs(p.lhs, p.lhsStrides, g, rows.begin, 0), rhs(p.rhs, p.rhsStrides, g, 0, columns.begin);
  sgemm(rowMajor, lhs.order, rhs.order, rows.size(), columns.size(), static_cast<int>(p.k), 1, lhs.cells, lhs.leading,
        rhs.cells, rhs.leading, p.accumulate || p.bias ? 1 : 0, out + rows.begin * p.outStrides[1] + columns.begin,
        static_cast<int>(p.outStrides[1]));
}

} // namespace

bool suitsBlas(const ProductProblem &p) {
  constexpr int64_t most = std::numeric_limits<int>::max();
  const int64_t largest =
      std::max({p.m, p.n, p.k, p.lhsStrides[1], p.lhsStrides[2], p.rhsStrides[1], p.rhsStrides[2], p.outStrides[1]});
  return p.type == DTCC_F32 && p.outType == DTCC_F32 && largest <= most;
}

void blasProduct(Sgemm sgemm, ThreadTeam &team, const ProductProblem &p) {
  // Threads take whole matrices if there are enough of them.
  const Grid grid = p.g >= team.threads() ? Grid{1, 1} : gridOf(p, team.threads());
  const int64_t parts = grid.rows * grid.columns;
  team.parallelFor(p.g * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t part = item % parts;
      computePart(sgemm, p, item / parts, Span(p.m, part / grid.columns, grid.rows),
                  Span(p.n, part % grid.columns, grid.columns));
    }
  });
}

} // namespace dtcc::rt
