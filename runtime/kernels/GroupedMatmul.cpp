//===- GroupedMatmul.cpp - Rows that pick a matrix of a stack -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/GroupedMatmul.h"
#include "runtime/kernels/Matmul.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt {
namespace {

/// Elements that are worth a thread.
constexpr int64_t grainElements = 16384;
constexpr int64_t line = 64;

int64_t aligned(int64_t bytes) { return (bytes + line - 1) / line * line; }

/// The rows in the order of their ids.
class SortedRows {
public:
  SortedRows(const Integers &ids, int64_t offset, int64_t groups, const GroupedWorkspace &workspace)
      : rowOf(reinterpret_cast<int64_t *>(workspace.memory)), placeOf(rowOf + ids.size), begin(placeOf + ids.size) {
    std::fill(begin, begin + groups + 1, 0);
    auto groupOf = [&](int64_t row) {
      int64_t group = ids[row] - offset;
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
    cells = reinterpret_cast<float *>(workspace.memory + aligned(head));
  }

  /// `from`, every row of which stands for `repeat` ids, side by side in sorted order.
  void pack(ThreadTeam &team, const Matrix<const float> &from, int64_t repeat, float *to) const {
    int64_t grain = std::max<int64_t>(1, grainElements / std::max<int64_t>(from.columns, 1));
    team.parallelFor(count, grain, [&](int64_t first, int64_t last) {
      for (int64_t place = first; place < last; ++place) {
        const float *row = from.row(rowOf[place] / repeat);
        float *cell = to + place * from.columns;
        if (from.columnStride == 1)
          std::memcpy(cell, row, static_cast<size_t>(from.columns) * sizeof(float));
        else
          for (int64_t c = 0; c < from.columns; ++c)
            cell[c] = row[c * from.columnStride];
      }
    });
  }
  int64_t size(int64_t group) const { return begin[group + 1] - begin[group]; }

  int64_t *rowOf, *placeOf, *begin;
  int64_t count;
  /// Where packed rows may stand.
  float *cells;
};

float *after(float *cells, int64_t count) {
  return reinterpret_cast<float *>(reinterpret_cast<std::byte *>(cells) +
                                   aligned(count * static_cast<int64_t>(sizeof(float))));
}

} // namespace

int64_t GroupedWorkspace::bytes(int64_t rows, int64_t groups, int64_t left, int64_t right) {
  return aligned((2 * rows + groups + 1) * 8) + aligned(rows * left * 4) + aligned(rows * right * 4);
}

void groupedMatmul(ThreadTeam &team, const VectorKernels &kernels, const TeamScratch &scratch,
                   const Matrix<const float> &lhs, const MatrixStack<const float> &rhs, const Integers &ids,
                   int64_t offset, const Matrix<float> &out, const GroupedWorkspace &workspace) {
  SortedRows sorted(ids, offset, rhs.count, workspace);
  float *left = sorted.cells, *products = after(left, ids.size * lhs.columns);
  sorted.pack(team, lhs, ids.size / std::max<int64_t>(lhs.rows, 1), left);
  for (int64_t group = 0; group < rhs.count; ++group) {
    ProductProblem p;
    p.m = sorted.size(group), p.k = lhs.columns, p.n = rhs.columns;
    if (p.m == 0)
      continue;
    p.lhs = left + sorted.begin[group] * p.k, p.lhsStrides[1] = p.k, p.lhsStrides[2] = 1;
    p.rhs = rhs.data + group * rhs.stride, p.rhsStrides[1] = rhs.rowStride, p.rhsStrides[2] = rhs.columnStride;
    p.out = products + sorted.begin[group] * p.n, p.outStrides[1] = p.n, p.outStrides[2] = 1;
    ownProduct(team, kernels, p, scratch);
  }
  int64_t repeat = ids.size / std::max<int64_t>(out.rows, 1), columns = rhs.columns;
  int64_t grain = std::max<int64_t>(1, grainElements / std::max<int64_t>(columns * repeat, 1));
  team.parallelFor(out.rows, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      bool fresh = true;
      for (int64_t row = i * repeat; row < (i + 1) * repeat; ++row) {
        int64_t place = sorted.placeOf[row];
        if (place < 0)
          continue;
        const float *from = products + place * columns;
        float *to = out.row(i);
        for (int64_t c = 0; c < columns; ++c)
          to[c * out.columnStride] = fresh ? from[c] : to[c * out.columnStride] + from[c];
        fresh = false;
      }
      for (int64_t c = 0; fresh && c < columns; ++c)
        out.row(i)[c * out.columnStride] = 0;
    }
  });
}

void groupedMatmulGrad(ThreadTeam &team, const VectorKernels &kernels, const TeamScratch &scratch,
                       const Matrix<const float> &lhs, const Matrix<const float> &rhs, const Integers &ids,
                       int64_t offset, bool accumulate, const MatrixStack<float> &out,
                       const GroupedWorkspace &workspace) {
  SortedRows sorted(ids, offset, out.count, workspace);
  float *left = sorted.cells, *right = after(left, ids.size * lhs.columns);
  sorted.pack(team, lhs, ids.size / std::max<int64_t>(lhs.rows, 1), left);
  sorted.pack(team, rhs, ids.size / std::max<int64_t>(rhs.rows, 1), right);
  for (int64_t group = 0; group < out.count; ++group) {
    // A group that nobody picked gets the empty sum.
    ProductProblem p;
    p.m = lhs.columns, p.k = sorted.size(group), p.n = rhs.columns, p.accumulate = accumulate;
    p.lhs = left + sorted.begin[group] * p.m, p.lhsStrides[1] = 1, p.lhsStrides[2] = p.m;
    p.rhs = right + sorted.begin[group] * p.n, p.rhsStrides[1] = p.n, p.rhsStrides[2] = 1;
    p.out = out.data + group * out.stride, p.outStrides[1] = out.rowStride, p.outStrides[2] = out.columnStride;
    if (p.k > 0 || !accumulate)
      ownProduct(team, kernels, p, scratch);
  }
}

} // namespace dtcc::rt
