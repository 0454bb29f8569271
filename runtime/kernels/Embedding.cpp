//===- Embedding.cpp - Lookup of table rows and its gradient -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Embedding.h"

#include <algorithm>
#include <cstring>

namespace dtcc::rt {
namespace {

/// Elements that are worth a thread.
constexpr int64_t grainElements = 16384;

template <typename T> void fillZero(const Matrix<T> &to, int64_t row, int64_t begin, int64_t end) {
  if (to.columnStride == 1)
    std::memset(to.row(row) + begin, 0, static_cast<size_t>(end - begin) * sizeof(T));
  else
    for (int64_t c = begin; c < end; ++c)
      to.row(row)[c * to.columnStride] = 0;
}

template <typename T>
void lookUp(ThreadTeam &team, const Matrix<const T> &table, const Integers &ids, int64_t offset, const Matrix<T> &out) {
  bool dense = table.columnStride == 1 && out.columnStride == 1;
  int64_t grain = std::max<int64_t>(1, grainElements / std::max<int64_t>(out.columns, 1));
  team.parallelFor(out.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = ids[i] - offset;
      if (row < 0 || row >= table.rows)
        fillZero(out, i, 0, out.columns);
      else if (dense)
        std::memcpy(out.row(i), table.row(row), static_cast<size_t>(out.columns) * sizeof(T));
      else
        for (int64_t c = 0; c < out.columns; ++c)
          out.row(i)[c * out.columnStride] = table.row(row)[c * table.columnStride];
    }
  });
}

/// `add(to, from, n)` adds n adjacent numbers, or one.
template <typename T, typename Add>
void addRows(ThreadTeam &team, const Matrix<const T> &dout, const Integers &ids, int64_t offset, bool accumulate,
             int64_t paddingId, const Matrix<float> &dtable, Add add) {
  if (!accumulate) {
    int64_t grain = std::max<int64_t>(1, grainElements / std::max<int64_t>(dtable.columns, 1));
    team.parallelFor(dtable.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        fillZero(dtable, row, 0, dtable.columns);
    });
  }
  constexpr int64_t line = 16;
  const bool dense = dout.columnStride == 1 && dtable.columnStride == 1;
  // Adds columns [first, last) of all that goes to rows [begin, end) of the table, in order.
  auto addPart = [&](int64_t begin, int64_t end, int64_t first, int64_t last) {
    for (int64_t i = 0; i < dout.rows; ++i) {
      int64_t id = ids[i], row = id - offset;
      if (row < begin || row >= end || (paddingId >= 0 && id == paddingId))
        continue;
      if (dense && last - first > 1)
        add(dtable.row(row) + first, dout.row(i) + first, last - first);
      else
        for (int64_t c = first; c < last; ++c)
          add(dtable.row(row) + c * dtable.columnStride, dout.row(i) + c * dout.columnStride, 1);
    }
  };
  // An id that stands twice needs no lock: threads share out the columns, a cache line of them at a time, or the rows
  // of a table that has too few columns for that.
  const int64_t lines = (dtable.columns + line - 1) / line, threads = team.threads();
  if (lines < threads && dout.rows * dtable.columns >= grainElements) {
    team.parallelFor(dtable.rows, (dtable.rows + threads - 1) / threads,
                     [&](int64_t begin, int64_t end) { addPart(begin, end, 0, dtable.columns); });
    return;
  }
  int64_t grain = std::max<int64_t>(1, grainElements / (line * std::max<int64_t>(dout.rows, 1)));
  team.parallelFor(lines, grain, [&](int64_t begin, int64_t end) {
    addPart(0, dtable.rows, begin * line, std::min(end * line, dtable.columns));
  });
}

} // namespace

void embedding(ThreadTeam &team, const Matrix<const float> &table, const Integers &ids, int64_t offset,
               const Matrix<float> &out) {
  lookUp(team, table, ids, offset, out);
}
void embedding(ThreadTeam &team, const Matrix<const uint16_t> &table, const Integers &ids, int64_t offset,
               const Matrix<uint16_t> &out) {
  lookUp(team, table, ids, offset, out);
}

void scatterAdd(ThreadTeam &team, const VectorKernels &kernels, const Matrix<const float> &dout, const Integers &ids,
                int64_t offset, bool accumulate, int64_t paddingId, const Matrix<float> &dtable) {
  addRows(team, dout, ids, offset, accumulate, paddingId, dtable, [&](float *to, const float *from, int64_t n) {
    if (n == 1)
      *to += *from;
    else
      kernels.addTo(to, from, n);
  });
}
void scatterAdd(ThreadTeam &team, const VectorKernels &kernels, dtcc_dtype half, const Matrix<const uint16_t> &dout,
                const Integers &ids, int64_t offset, bool accumulate, int64_t paddingId, const Matrix<float> &dtable) {
  addRows(team, dout, ids, offset, accumulate, paddingId, dtable, [&](float *to, const uint16_t *from, int64_t n) {
    constexpr int64_t part = 256;
    float wide[part];
    for (int64_t i = 0; i < n; i += part) {
      int64_t count = std::min(part, n - i);
      kernels.widen(half, from + i, count, wide);
      kernels.addTo(to + i, wide, count);
    }
  });
}

} // namespace dtcc::rt
