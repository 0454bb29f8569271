//===- GroupedMma.cu - Products of halves whose rows pick a matrix of a stack
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GroupedProduct.cu on tensor cores: rows are fetched by their number as they are
// multiplied, never copied side by side, and every square works for one matrix. Those
// called wide want all operands in units of 16 bytes.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/GroupedRows.h"
#include "runtime/cuda/kernels/product/HalfProduct.h"
#include "runtime/cuda/kernels/product/WideHalfProduct.h"

namespace dtcc::rt::cuda {
namespace {

/// A row of the result: null where there is none. Its type is p.outType, or f32 for products that are added up later.
struct ResultRow {
  void *cells;
  int64_t step;
  bool wide, pairs;
};
DTCC_DEVICE ResultRow resultRow(const GroupedProduct &p, void *data, int64_t offset, int64_t step) {
  const bool wide = p.outType == DTCC_F32;
  return {static_cast<char *>(data) + offset * (wide ? 4 : 2), step, wide, p.pairs != 0};
}

/// Cells j, which is even, and, if there is one, j + 1.
template <typename T>
DTCC_DEVICE void storePair(const ResultRow &row, int64_t n, int64_t j, bool adds, const float (&pair)[2]) {
  if (!row.cells || j >= n)
    return;
  const bool both = j + 1 < n;
  if (row.pairs && both) {
    struct alignas(8) Two {
      float at[2];
    };
    struct alignas(4) TwoHalves {
      T at[2];
    };
    if (row.wide) {
      Two &to = static_cast<Two *>(row.cells)[j / 2];
      const Two old = adds ? to : Two{};
      to = {{old.at[0] + pair[0], old.at[1] + pair[1]}};
    } else {
      TwoHalves &to = static_cast<TwoHalves *>(row.cells)[j / 2];
      const TwoHalves old = adds ? to : TwoHalves{};
      to = {{static_cast<T>(static_cast<float>(old.at[0]) + pair[0]),
             static_cast<T>(static_cast<float>(old.at[1]) + pair[1])}};
    }
    return;
  }
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    if (j + c >= n)
      return;
    const int64_t at = (j + c) * row.step;
    if (row.wide) {
      float &to = static_cast<float *>(row.cells)[at];
      to = adds ? to + pair[c] : pair[c];
    } else {
      T &to = static_cast<T *>(row.cells)[at];
      to = static_cast<T>(adds ? static_cast<float>(to) + pair[c] : pair[c]);
    }
  }
}

/// Row i of a square's result.
DTCC_DEVICE ResultRow productRow(const GroupedProduct &p, const GroupSquare &square, int i) {
  const int64_t place = square.first + square.row + i;
  if (square.row + i >= square.count)
    return {};
  if (p.side.repeat.value == 1)
    return resultRow(p, p.side.data, p.order[place] * p.side.rowStride, p.side.columnStride);
  return {p.products + place * p.n, 1, true, p.n % 2 == 0};
}
/// Row i of a matrix's gradient.
DTCC_DEVICE ResultRow gradientRow(const GroupedProduct &p, int64_t group, int64_t i) {
  return i < p.k ? resultRow(p, p.matrices, group * p.matrixStrides[0] + i * p.matrixStrides[1], p.matrixStrides[2])
                 : ResultRow{};
}

template <typename T, bool matrixAlongDepth> DTCC_DEVICE void product(const GroupedProduct &p) {
  const GroupSquare square = GroupSquare::of(p, halfTile);
  if (square.group < 0)
    return;
  const int64_t column = blockY() * halfTile;
  const auto *lhs = static_cast<const uint16_t *>(p.lhs.data);
  const auto *matrix = static_cast<const uint16_t *>(p.matrices) + square.group * p.matrixStrides[0];
  const int64_t step = matrixAlongDepth ? p.matrixStrides[1] : p.matrixStrides[2];
  // A thread fetches of the same two rows at every depth.
  static_assert(halfUnits == 2);
  int64_t rows[halfUnits];
#pragma unroll
  for (int u = 0; u < halfUnits; ++u) {
    const int64_t i = square.row + HalfStage<true>::row(threadIndex() + u * halfThreads);
    rows[u] = i < square.count ? p.lhs.repeat(p.order[square.first + i]) * p.lhs.rowStride : -1;
  }
  multiplyHalves<T, true, matrixAlongDepth>(
      p.k,
      [&](int row, int64_t k) {
        const int64_t at = row == HalfStage<true>::row(threadIndex()) ? rows[0] : rows[1];
        return loadUnit(lhs + at + k * p.lhs.columnStride, p.lhs.columnStride, at < 0 ? 0 : p.k - k, p.lhs.units);
      },
      [&](int j, int64_t k) {
        const int64_t n = column + j, inside = matrixAlongDepth ? (n < p.n ? p.k - k : 0) : (k < p.k ? p.n - n : 0);
        return loadUnit(matrix + k * p.matrixStrides[1] + n * p.matrixStrides[2], step, inside, p.matrixUnits);
      },
      [&](int i) { return productRow(p, square, i); },
      [&](const ResultRow &row, int j, const float (&pair)[2]) { storePair<T>(row, p.n, column + j, false, pair); });
}

template <typename T> DTCC_DEVICE void gradient(const GroupedProduct &p) {
  const int64_t columns = (p.n + halfTile - 1) / halfTile;
  const int64_t row = blockX() / columns * halfTile, column = blockX() % columns * halfTile;
  for (int64_t group = blockZ(); group < p.groups; group += blocksZ()) {
    const int64_t first = p.begin[group], count = p.begin[group + 1] - first;
    if (count == 0 && p.accumulate)
      continue;
    const auto unit = [&](const RepeatedRows &rows, int64_t cell, int64_t cells, int64_t place) {
      const int64_t at = place < count ? rows.repeat(p.order[first + place]) * rows.rowStride : 0;
      return loadUnit(static_cast<const uint16_t *>(rows.data) + at + cell * rows.columnStride, rows.columnStride,
                      place < count ? cells - cell : 0, rows.units);
    };
    multiplyHalves<T, false, false>(
        count, [&](int i, int64_t place) { return unit(p.lhs, row + i, p.k, place); },
        [&](int j, int64_t place) { return unit(p.side, column + j, p.n, place); },
        [&](int i) { return gradientRow(p, group, row + i); },
        [&](const ResultRow &to, int j, const float (&pair)[2]) {
          storePair<T>(to, p.n, column + j, p.accumulate, pair);
        });
  }
}

/// Rows of a square, along the depth: those of a group.
template <typename Stage> struct RowUnits {
  const uint16_t *data;
  int64_t depth;
  int64_t rows[Stage::units]; // offsets, or -1

  DTCC_DEVICE RowUnits(const GroupedProduct &p, const GroupSquare &square)
      : data(static_cast<const uint16_t *>(p.lhs.data)), depth(p.k) {
#pragma unroll
    for (int u = 0; u < Stage::units; ++u) {
      const int64_t i = square.row + Stage::row(u);
      rows[u] = i < square.count ? p.lhs.repeat(p.order[square.first + i]) * p.lhs.rowStride : -1;
    }
  }
  DTCC_DEVICE void prepare(int64_t) {}
  DTCC_DEVICE WideUnit unit(int u, int64_t first) const {
    const int64_t k = first + Stage::depth(u);
    const bool exists = rows[u] >= 0 && k < depth;
    return {exists ? data + rows[u] + k : data, exists};
  }
};

/// Columns of a matrix.
template <typename Stage> struct MatrixUnits {
  const uint16_t *data;
  int64_t column, k, n, depthStride, columnStride;

  DTCC_DEVICE MatrixUnits(const GroupedProduct &p, int64_t group, int64_t column)
      : data(static_cast<const uint16_t *>(p.matrices) + group * p.matrixStrides[0]), column(column), k(p.k), n(p.n),
        depthStride(p.matrixStrides[1]), columnStride(p.matrixStrides[2]) {}
  DTCC_DEVICE void prepare(int64_t) {}
  DTCC_DEVICE WideUnit unit(int u, int64_t first) const {
    const int64_t depth = first + Stage::depth(u), j = column + Stage::row(u);
    const bool exists = depth < k && j < n;
    return {exists ? data + depth * depthStride + j * columnStride : data, exists};
  }
};

/// Cells [cell, cells) of rows of a group, the rows being the depth. Numbers of rows are read a step before the rows.
template <typename Stage> struct PickedUnits {
  const uint16_t *data;
  const int32_t *order; // the group's
  Division repeat;
  int32_t count, rowStride, rows[Stage::units];
  bool inside;

  DTCC_DEVICE PickedUnits(const GroupedProduct &p, const RepeatedRows &from, int64_t group, int64_t cell, int64_t cells)
      : data(static_cast<const uint16_t *>(from.data)), order(p.order + p.begin[group]), repeat(from.repeat),
        count(p.begin[group + 1] - p.begin[group]), rowStride(static_cast<int32_t>(from.rowStride)),
        inside(cell + Stage::row(0) < cells) {
    static_assert(wideThreads % (wideRows / 8) == 0 && wideThreads % (wideColumns / 8) == 0,
                  "a thread copies the same cells of all its rows");
    if (inside)
      data += cell + Stage::row(0);
  }
  DTCC_DEVICE void prepare(int64_t first) {
#pragma unroll
    for (int u = 0; u < Stage::units; ++u) {
      const int32_t place = static_cast<int32_t>(first) + Stage::depth(u);
      rows[u] = place < count ? order[place] : -1;
    }
  }
  DTCC_DEVICE WideUnit unit(int u, int64_t) const {
    const bool exists = inside && rows[u] >= 0;
    return {data + (exists ? int64_t{repeat(rows[u])} * rowStride : 0), exists};
  }
};

template <typename T, bool matrixAlongDepth> DTCC_DEVICE void productWide(const GroupedProduct &p) {
  const GroupSquare square = GroupSquare::of(p, wideRows);
  if (square.group < 0)
    return;
  const int64_t column = blockY() * wideColumns;
  multiplyWide<T, true, matrixAlongDepth>(
      p.k, RowUnits<WideStage<wideRows, true>>(p, square),
      MatrixUnits<WideStage<wideColumns, matrixAlongDepth>>(p, square.group, column),
      [&](int i) { return productRow(p, square, i); },
      [&](const ResultRow &row, int j, const float (&pair)[2]) { storePair<T>(row, p.n, column + j, false, pair); });
}

template <typename T> DTCC_DEVICE void gradientWide(const GroupedProduct &p) {
  const int64_t columns = (p.n + wideColumns - 1) / wideColumns;
  const int64_t row = blockX() / columns * wideRows, column = blockX() % columns * wideColumns;
  for (int64_t group = blockZ(); group < p.groups; group += blocksZ()) {
    const int64_t count = p.begin[group + 1] - p.begin[group];
    if (count == 0 && p.accumulate)
      continue;
    multiplyWide<T, false, false>(
        count, PickedUnits<WideStage<wideRows, false>>(p, p.lhs, group, row, p.k),
        PickedUnits<WideStage<wideColumns, false>>(p, p.side, group, column, p.n),
        [&](int i) { return gradientRow(p, group, row + i); },
        [&](const ResultRow &to, int j, const float (&pair)[2]) {
          storePair<T>(to, p.n, column + j, p.accumulate, pair);
        });
  }
}

} // namespace

// If registers allow, two blocks share a multiprocessor: one multiplies while the other waits for memory.
#define DTCC_GROUPED(NAME, TYPE)                                                                                       \
  DTCC_KERNEL_BLOCKS(grouped_product_k_##NAME, GroupedProduct, halfThreads, 2) { product<TYPE, true>(p); }             \
  DTCC_KERNEL_BLOCKS(grouped_product_n_##NAME, GroupedProduct, halfThreads, 2) { product<TYPE, false>(p); }            \
  DTCC_KERNEL(grouped_product_grad_##NAME, GroupedProduct, halfThreads) { gradient<TYPE>(p); }                         \
  DTCC_KERNEL(grouped_product_wide_k_##NAME, GroupedProduct, wideThreads) { productWide<TYPE, true>(p); }              \
  DTCC_KERNEL(grouped_product_wide_n_##NAME, GroupedProduct, wideThreads) { productWide<TYPE, false>(p); }             \
  DTCC_KERNEL(grouped_product_grad_wide_##NAME, GroupedProduct, wideThreads) { gradientWide<TYPE>(p); }
DTCC_GROUPED(bf16, __bf16)
DTCC_GROUPED(f16, _Float16)

} // namespace dtcc::rt::cuda
