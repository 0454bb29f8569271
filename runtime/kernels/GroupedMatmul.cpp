//===- GroupedMatmul.cpp - Rows that pick a matrix of a stack -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/GroupedMatmul.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt {
namespace {

int64_t grainOf(int64_t elementsEach) {
  constexpr int64_t grainElements = 16384; // worth a thread
  return std::max<int64_t>(1, grainElements / std::max<int64_t>(elementsEach, 1));
}

/// Rows of a block of the library's products.
constexpr int64_t leastBlock = 16, mostBlock = 256;

/// The rows in the order of their ids.
class SortedRows {
public:
  SortedRows(const GroupedIds &from, int64_t groups)
      : rowOf(reinterpret_cast<int64_t *>(from.workspace)), placeOf(rowOf + from.ids.size),
        begin(placeOf + from.ids.size) {
    const Integers &ids = from.ids;
    std::fill(begin, begin + groups + 1, 0);
    auto groupOf = [&](int64_t row) {
      int64_t group = ids[row] - from.offset;
      return group >= 0 && group < groups ? group : -1;
    };
    for (int64_t row = 0; row < ids.size; ++row)
      if (int64_t group = groupOf(row); group >= 0)
        ++begin[group + 1];
    for (int64_t group = 0; group < groups; ++group)
      begin[group + 1] += begin[group];
    // Each begin moves to its end, which is the next one's begin.
    for (int64_t row = 0; row < ids.size; ++row) {
      int64_t group = groupOf(row);
      placeOf[row] = group < 0 ? -1 : begin[group]++;
      if (group >= 0)
        rowOf[placeOf[row]] = row;
    }
    for (int64_t group = groups; group > 0; --group)
      begin[group] = begin[group - 1];
    begin[0] = 0;
    count = begin[groups];
    int64_t head = (2 * ids.size + groups + 1) * static_cast<int64_t>(sizeof(int64_t));
    cells = from.workspace + grouped_workspace::aligned(head);
  }

  /// Rows of `columns` cells side by side in sorted order. T: float, or the bits of a half.
  template <typename T>
  void pack(ThreadTeam &team, const GroupedRows &rows, const void *from, int64_t columns, std::byte *to) const {
    team.parallelFor(count, grainOf(columns), [&](int64_t first, int64_t last) {
      for (int64_t place = first; place < last; ++place) {
        const T *row = static_cast<const T *>(from) + rowOf[place] / rows.repeat * rows.rowStride;
        T *cell = reinterpret_cast<T *>(to) + place * columns;
        if (rows.columnStride == 1)
          std::memcpy(cell, row, static_cast<size_t>(columns) * sizeof(T));
        else
          for (int64_t c = 0; c < columns; ++c)
            cell[c] = row[c * rows.columnStride];
      }
    });
  }
  void pack(ThreadTeam &team, dtcc_dtype type, const GroupedRows &rows, const void *from, int64_t columns,
            std::byte *to) const {
    if (type == DTCC_F32)
      pack<float>(team, rows, from, columns, to);
    else
      pack<uint16_t>(team, rows, from, columns, to);
  }

  int64_t *rowOf, *placeOf, *begin;
  int64_t count;
  /// Memory for packed rows.
  std::byte *cells;
};

/// The rows of a result, of whatever type.
class ResultRows {
public:
  ResultRows(const VectorKernels &kernels, const GroupedProblem &p, void *out)
      : kernels(kernels), p(p), out(static_cast<std::byte *>(out)), cellBytes(dtcc_dtype_size(p.outType)) {}

  void clear(int64_t row) const {
    // 0 has no bits set.
    if (p.side.columnStride == 1)
      std::memset(at(row, 0), 0, static_cast<size_t>(p.n * cellBytes));
    for (int64_t c = 0; p.side.columnStride != 1 && c < p.n; ++c)
      std::memset(at(row, c), 0, static_cast<size_t>(cellBytes));
  }
  /// `cells` are of the result's own type.
  void copy(int64_t row, const std::byte *cells) const {
    if (p.side.columnStride == 1)
      std::memcpy(at(row, 0), cells, static_cast<size_t>(p.n * cellBytes));
    for (int64_t c = 0; p.side.columnStride != 1 && c < p.n; ++c)
      std::memcpy(at(row, c), cells + c * cellBytes, static_cast<size_t>(cellBytes));
  }
  void store(int64_t row, const float *sums) const {
    if (p.outType == DTCC_F32)
      return copy(row, reinterpret_cast<const std::byte *>(sums));
    if (p.side.columnStride == 1)
      return kernels.narrow(p.outType, sums, p.n, at(row, 0));
    for (int64_t c = 0; c < p.n; ++c)
      kernels.narrow(p.outType, sums + c, 1, at(row, c));
  }

private:
  std::byte *at(int64_t row, int64_t column) const {
    return out + (row * p.side.rowStride + column * p.side.columnStride) * cellBytes;
  }
  const VectorKernels &kernels;
  const GroupedProblem &p;
  std::byte *out;
  int64_t cellBytes;
};

} // namespace

/// The product of `count` rows of a matrix, and of its gradient, which sums over them.
static ProductProblem rowsProduct(const GroupedProblem &problem, bool gradient, int64_t count) {
  ProductProblem p;
  p.type = problem.type, p.n = problem.n;
  p.m = gradient ? problem.k : count, p.k = gradient ? count : problem.k;
  p.lhsStrides[1] = gradient ? 1 : problem.k, p.lhsStrides[2] = gradient ? problem.k : 1;
  if (gradient) {
    p.outType = problem.outType;
    p.rhsStrides[1] = p.n, p.rhsStrides[2] = 1;
    p.outStrides[1] = problem.stackStrides[1], p.outStrides[2] = problem.stackStrides[2];
  } else {
    p.outType = problem.side.repeat == 1 ? problem.outType : DTCC_F32;
    p.rhsStrides[1] = problem.stackStrides[1], p.rhsStrides[2] = problem.stackStrides[2];
    p.outStrides[1] = p.n, p.outStrides[2] = 1;
  }
  return p;
}

GroupedBlocks::GroupedBlocks(const GroupedProblem &problem, bool gradient, const VectorKernels &kernels,
                             TeamScratch &scratch) {
  scratch.reserve((productScratch + (problem.type == DTCC_F32 ? 0 : halfProductScratch)) * sizeof(float));
  // f32 is ours, whose bits depend on nothing. So is what would be rounded at every block.
  if (problem.type == DTCC_F32 || (gradient && problem.outType != DTCC_F32))
    return;
  const int64_t rows =
      std::clamp<int64_t>(problem.rows / std::max<int64_t>(problem.groups, 1) / 2, leastBlock, mostBlock);
  for (bool adds : {false, true}) {
    if (adds && !gradient)
      continue;
    ProductProblem p = rowsProduct(problem, gradient, rows / leastBlock * leastBlock);
    p.accumulate = adds;
    products[adds] = std::make_unique<Matmul>(p, kernels, scratch);
    if (products[adds]->method() == ProductMethod::Own)
      return;
  }
  blockRows = rows / leastBlock * leastBlock;
}

void GroupedBlocks::run(ThreadTeam &team, const TeamScratch &scratch, const ProductProblem &block) const {
  products[block.accumulate]->run(team, scratch, block);
}

void groupedMatmul(ThreadTeam &team, const VectorKernels &kernels, const TeamScratch &scratch,
                   const GroupedProblem &problem, const GroupedBlocks &blocks, const void *lhs, const void *rhs,
                   const GroupedIds &ids, void *out) {
  SortedRows sorted(ids, problem.groups);
  const int64_t repeat = problem.side.repeat, leftRow = problem.leftRow(), productRow = problem.productRow();
  std::byte *left = sorted.cells, *products = left + grouped_workspace::aligned(problem.rows * leftRow);
  sorted.pack(team, problem.type, problem.lhs, lhs, problem.k, left);
  for (int64_t group = 0; group < problem.groups; ++group)
    for (int64_t row = sorted.begin[group], end = sorted.begin[group + 1]; row < end;) {
      const bool whole = blocks.rows() > 0 && end - row >= blocks.rows();
      const int64_t count = whole ? blocks.rows() : end - row;
      ProductProblem p = rowsProduct(problem, /*gradient=*/false, count);
      p.lhs = left + row * leftRow;
      p.rhs = static_cast<const std::byte *>(rhs) + group * problem.stackStrides[0] * dtcc_dtype_size(problem.type);
      p.out = products + row * productRow;
      if (whole)
        blocks.run(team, scratch, p);
      else
        ownProduct(team, kernels, p, scratch);
      row += count;
    }
  const ResultRows result(kernels, problem, out);
  team.parallelFor(problem.rows / repeat, grainOf(problem.n * repeat), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      // Sums grow where the first product of a row lies.
      std::byte *sums = nullptr;
      for (int64_t row = i * repeat; row < (i + 1) * repeat; ++row) {
        if (sorted.placeOf[row] < 0)
          continue;
        std::byte *from = products + sorted.placeOf[row] * productRow;
        if (sums)
          kernels.addTo(reinterpret_cast<float *>(sums), reinterpret_cast<const float *>(from), problem.n);
        else
          sums = from;
      }
      if (!sums)
        result.clear(i);
      else if (repeat == 1)
        result.copy(i, sums);
      else
        result.store(i, reinterpret_cast<const float *>(sums));
    }
  });
}

void groupedMatmulGrad(ThreadTeam &team, const VectorKernels &kernels, const TeamScratch &scratch,
                       const GroupedProblem &problem, const GroupedBlocks &blocks, const void *lhs, const void *rhs,
                       const GroupedIds &ids, bool accumulate, void *out) {
  SortedRows sorted(ids, problem.groups);
  const int64_t leftRow = problem.leftRow(), rightRow = problem.rightRow();
  std::byte *left = sorted.cells, *right = left + grouped_workspace::aligned(problem.rows * leftRow);
  sorted.pack(team, problem.type, problem.lhs, lhs, problem.k, left);
  sorted.pack(team, problem.type, problem.side, rhs, problem.n, right);
  for (int64_t group = 0; group < problem.groups; ++group) {
    bool adds = accumulate;
    // A group that nobody picked gets the empty sum.
    for (int64_t row = sorted.begin[group], end = sorted.begin[group + 1]; row < end || !adds;) {
      const bool whole = blocks.rows() > 0 && end - row >= blocks.rows();
      const int64_t count = whole ? blocks.rows() : end - row;
      ProductProblem p = rowsProduct(problem, /*gradient=*/true, count);
      p.accumulate = adds;
      p.lhs = left + row * leftRow, p.rhs = right + row * rightRow;
      p.out = static_cast<std::byte *>(out) + group * problem.stackStrides[0] * dtcc_dtype_size(problem.outType);
      if (whole)
        blocks.run(team, scratch, p);
      else
        ownProduct(team, kernels, p, scratch);
      row += count;
      adds = true;
    }
  }
}

} // namespace dtcc::rt
