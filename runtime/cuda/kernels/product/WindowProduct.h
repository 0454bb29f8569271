//===- WindowProduct.h - A tile of a product whose right matrix is gathered
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The right matrix joins cells (a place in an image) and taps (a shift from it): its element
// lies at the sum of both, or is 0 where that is beside the image. So all index arithmetic
// is done once a cell and once a tap: a thread gathers for one cell at a time, whose place
// is in its registers, and taps, which all lanes of a warp share, stand in a table in shared
// memory (a broadcast). Neighbouring lanes have neighbouring cells, so that what they read
// is adjacent where strides are 1.
//
// Two stages in shared memory: while one is multiplied, what the next holds is under way to
// registers; one barrier a step. Global memory goes through registers and not by cp.async,
// which copies no less than 4 bytes: a cell of a half, shifted by a tap, has no such
// alignment.
//
// Banks. Halves: rows of `left` and, along the depth, of `right` are 80 bytes apart, rows of
// columns 272: odd multiples of 16, so that the eight rows that ldmatrix reads at once lie in
// different banks; stores of gathered cells are of adjacent lanes side by side. f32: both lie
// by depth, rows of tile + 4 floats: vectors of 16 bytes are read without conflict, and
// stores of lanes along the depth meet one other lane.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_WINDOWPRODUCT_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_WINDOWPRODUCT_H

#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/Mma.h"
#include "runtime/cuda/kernels/product/Convolution.h"

namespace dtcc::rt::cuda {

/// A place in the right matrix' image, of its first channel.
struct WindowCell {
  int32_t at[3];
  int64_t offset;
};
/// A shift from there; `offset` with its channel.
struct alignas(16) WindowTap {
  int32_t offset, at[3];
};
constexpr int32_t nowhere = -(1 << 30); // a coordinate that stays beside every image when another is added

constexpr int sumStride = convolutionColumns + 4; // of sums on their way out

using Words =
    uint32_t __attribute__((ext_vector_type(4))); // a vector is kept in registers where a structure may not be

/// The block of a product m x n that is computed: rows [row, row + rows) and columns [column, column + 128), over
/// depths [begin, end).
template <typename Cell> struct WindowOperands {
  const Cell *left, *right;
  int64_t leftRow; // from row to row
  bool leftChunks;
  const int32_t *image; // three sizes, of the right matrix
  int32_t m, n, begin, end, row, column;
};

/// Halves on tensor cores: a warp multiplies 32 x 64.
template <typename T, int rows, bool cellsAlongDepth> struct TileOf {
  using Cell = uint16_t;
  static constexpr int depth = 32, leftStride = depth + 8;
  static constexpr int rightStride = cellsAlongDepth ? depth + 8 : convolutionColumns + 8;
  static constexpr int leftCells = rows * leftStride;
  static constexpr int rightCells = cellsAlongDepth ? convolutionColumns * rightStride : depth * rightStride;
  static DTCC_DEVICE int leftAt(int row, int k) { return row * leftStride + k; }
  static DTCC_DEVICE int rightAt(int k, int column) {
    return cellsAlongDepth ? column * rightStride + k : k * rightStride + column;
  }
  static DTCC_DEVICE void keepChunk(Cell *left, int row, int k, const Words &chunk) {
    *reinterpret_cast<Words *>(left + leftAt(row, k)) = chunk;
  }

  float sums[2][8][4] = {};

  DTCC_DEVICE void multiply(const Cell *left, const Cell *right) {
    const int l = lane(), row = warp() / 2 * 32, column = warp() % 2 * 64;
#pragma unroll
    for (int k = 0; k < depth; k += 16) {
      Squares a[2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        a[i] = loadSquares(left + leftAt(row + i * 16 + l % 16, k + l / 16 * 8));
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const int at = column + n * 16;
        const Squares b = cellsAlongDepth ? loadSquares(right + rightAt(k + l / 8 % 2 * 8, at + l % 8 + l / 16 * 8))
                                          : loadSquaresTransposed(right + rightAt(k + l % 16, at + l / 16 * 8));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          multiplyAdd<T>(sums[i][n * 2], a[i], b.at[0], b.at[1]);
          multiplyAdd<T>(sums[i][n * 2 + 1], a[i], b.at[2], b.at[3]);
        }
      }
    }
  }
  /// Half of the sums: row r of `to` is row rowOf(half, r) of the tile.
  DTCC_DEVICE void keepHalf(int half, float *to) const {
    const int row = warp() / 2 * 16 + lane() / 4, column = warp() % 2 * 64 + lane() % 4 * 2;
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        to[(row + i / 2 * 8) * sumStride + column + n * 8 + i % 2] = half ? sums[1][n][i] : sums[0][n][i];
  }
  static DTCC_DEVICE int rowOf(int half, int r) { return r / 16 * 32 + half * 16 + r % 16; }
};

/// f32 by multiply-add: a thread multiplies 8 x 8, four rows and four columns of each half of the tile.
template <int rows, bool cellsAlongDepth> struct TileOf<float, rows, cellsAlongDepth> {
  using Cell = float;
  static constexpr int depth = 16, leftStride = rows + 4, rightStride = convolutionColumns + 4;
  static constexpr int leftCells = depth * leftStride, rightCells = depth * rightStride;
  static DTCC_DEVICE int leftAt(int row, int k) { return k * leftStride + row; }
  static DTCC_DEVICE int rightAt(int k, int column) { return k * rightStride + column; }
  static DTCC_DEVICE void keepChunk(Cell *left, int row, int k, const Words &chunk) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      left[leftAt(row, k + i)] = __builtin_bit_cast(float, static_cast<uint32_t>(chunk[i]));
  }
  struct alignas(16) Four {
    float at[4];
  };

  float sums[8][8] = {};

  DTCC_DEVICE void multiply(const Cell *left, const Cell *right) {
    const int row = threadIndex() / 16 * 4, column = threadIndex() % 16 * 4;
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      Four a[2], b[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        a[half] = *reinterpret_cast<const Four *>(left + leftAt(row + half * rows / 2, k));
        b[half] = *reinterpret_cast<const Four *>(right + rightAt(k, column + half * 64));
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sums[i][j] = __builtin_fmaf(a[i / 4].at[i % 4], b[j / 4].at[j % 4], sums[i][j]);
    }
  }
  DTCC_DEVICE void keepHalf(int half, float *to) const {
    const int row = threadIndex() / 16 * 4, column = threadIndex() % 16 * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 8; j += 4) {
        const float (&from)[8] = half ? sums[i + 4] : sums[i];
        *reinterpret_cast<Four *>(to + (row + i) * sumStride + column +
                                  j * 16) = {{from[j], from[j + 1], from[j + 2], from[j + 3]}};
      }
  }
  static DTCC_DEVICE int rowOf(int half, int r) { return half * (rows / 2) + r; }
};

/// Shared memory of a block, of which a kernel has one, whatever calls what.
template <typename T, int rows, bool cellsAlongDepth> struct TileMemory {
  using Tile = TileOf<T, rows, cellsAlongDepth>;
  static constexpr int stageCells = Tile::leftCells + Tile::rightCells;
  static constexpr int tapCount = cellsAlongDepth ? convolutionColumns : 2 * Tile::depth;
  static_assert(2 * stageCells * sizeof(typename Tile::Cell) >= sizeof(float) * sumStride * rows / 2 &&
                Tile::leftCells * sizeof(typename Tile::Cell) % 16 == 0);
  static DTCC_DEVICE typename Tile::Cell *stages() {
    DTCC_SHARED typename Tile::Cell cells[2 * stageCells] __attribute__((aligned(16)));
    return cells;
  }
  static DTCC_DEVICE WindowTap *taps() {
    DTCC_SHARED WindowTap all[tapCount];
    return all;
  }
};

/// What a thread brings of a tile of the left matrix, in registers on its way from global to shared memory. `chunked`:
/// chunks of 16 bytes of a row; else one depth of every rowStep-th row.
template <bool chunked, typename T, int rows, bool cellsAlongDepth> struct LeftCells {
  using Tile = TileOf<T, rows, cellsAlongDepth>;
  using Cell = typename Tile::Cell;
  static constexpr int depth = Tile::depth, threads = convolutionThreads(rows);
  static constexpr int chunk = 16 / sizeof(Cell), rowStep = threads / depth;
  static_assert(threads * 2 * chunk == rows * depth, "two chunks a thread");

  Words chunks[2];
  Cell cells[depth / 2];

  template <typename LeftAt>
  DTCC_DEVICE void fetch(const WindowOperands<Cell> &in, int thread, int32_t first, LeftAt leftAt) {
    if constexpr (chunked) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int32_t row = in.row + (thread + i * threads) / 4, k = first + thread % 4 * chunk;
        chunks[i] = Words{};
        if (row < in.m && k < in.end)
          chunks[i] = *reinterpret_cast<const Words *>(in.left + row * in.leftRow + leftAt(k));
      }
    } else {
      const int32_t k = first + thread % depth, row = in.row + thread / depth, most = k < in.end ? in.m : 0;
      const Cell *at = in.left + row * in.leftRow + (k < in.end ? leftAt(k) : 0);
#pragma unroll
      for (int i = 0; i < depth / 2; ++i, at += rowStep * in.leftRow)
        cells[i] = row + i * rowStep < most ? *at : Cell(0);
    }
  }
  DTCC_DEVICE void keep(int thread, Cell *left) const {
    if constexpr (chunked) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        Tile::keepChunk(left, (thread + i * threads) / 4, thread % 4 * chunk, chunks[i]);
    } else {
#pragma unroll
      for (int i = 0; i < depth / 2; ++i)
        left[Tile::leftAt(thread / depth + i * rowStep, thread % depth)] = cells[i];
    }
  }
};

/// What a thread gathers of a tile of the right matrix: for cell `own` of every tile, taps `part`, `part` + parts, ..
template <typename T, int rows, bool cellsAlongDepth> struct GatheredCells {
  using Tile = TileOf<T, rows, cellsAlongDepth>;
  using Cell = typename Tile::Cell;
  static constexpr int columns = convolutionColumns, threads = convolutionThreads(rows);
  static constexpr int perTile = cellsAlongDepth ? Tile::depth : columns, parts = threads / perTile;
  static constexpr int count = (cellsAlongDepth ? columns : Tile::depth) / parts;

  WindowCell place = {};
  Cell cells[count];

  /// `taps`: those of the tile.
  DTCC_DEVICE void fetch(const WindowOperands<Cell> &in, int thread, const WindowTap *taps) {
    const int part = thread / perTile;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const WindowTap to = taps[part + i * parts];
      bool inside = true;
#pragma unroll
      for (int d = 0; d < 3; ++d)
        inside &= static_cast<uint32_t>(place.at[d] + to.at[d]) < static_cast<uint32_t>(in.image[d]);
      cells[i] = inside ? in.right[place.offset + to.offset] : Cell(0);
    }
  }
  DTCC_DEVICE void keep(int thread, Cell *right) const {
    const int own = thread % perTile, part = thread / perTile;
#pragma unroll
    for (int i = 0; i < count; ++i)
      right[cellsAlongDepth ? Tile::rightAt(own, part + i * parts) : Tile::rightAt(part + i * parts, own)] = cells[i];
  }
};

/// Stores the sums of a tile, half by half through shared memory.
template <int rows, typename Tile, typename StoreTo>
DTCC_DEVICE void storeSums(const WindowOperands<typename Tile::Cell> &in, const Tile &tile, float *sums,
                           StoreTo storeTo) {
  constexpr int columns = convolutionColumns, threads = convolutionThreads(rows);
  const int thread = threadIndex();
  const int32_t column = in.column + thread % columns;
  const auto store = storeTo(least(column, in.n - 1));
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    tile.keepHalf(half, sums);
    synchronize();
    for (int r = thread / columns; r < rows / 2; r += threads / columns)
      if (const int32_t row = in.row + Tile::rowOf(half, r); row < in.m && column < in.n)
        store(row, sums[r * sumStride + thread % columns]);
    synchronize();
  }
}

/// multiplyWindows, the left matrix read by 16 bytes or cell by cell: two functions, so that each holds but the
/// registers of its own way.
template <bool chunked, typename T, int rows, bool cellsAlongDepth, typename LeftAt, typename CellAt, typename TapAt,
          typename StoreTo>
DTCC_DEVICE void multiplyWindowsBy(const WindowOperands<typename TileOf<T, rows, cellsAlongDepth>::Cell> &in,
                                   LeftAt leftAt, CellAt cellAt, TapAt tapAt, StoreTo storeTo) {
  using Tile = TileOf<T, rows, cellsAlongDepth>;
  using Memory = TileMemory<T, rows, cellsAlongDepth>;
  using Gathered = GatheredCells<T, rows, cellsAlongDepth>;
  constexpr int depth = Tile::depth, columns = convolutionColumns, threads = convolutionThreads(rows);
  auto *stages = Memory::stages();
  WindowTap *taps = Memory::taps();
  const int thread = threadIndex(), own = thread % Gathered::perTile;
  LeftCells<chunked, T, rows, cellsAlongDepth> left;
  Gathered gathered;

  const auto tap = [&](int32_t i, int32_t end)
                       DTCC_INLINE { return i < end ? tapAt(i) : WindowTap{0, {nowhere, nowhere, nowhere}}; };
  const auto cell = [&](int32_t i, int32_t end)
                        DTCC_INLINE { return i < end ? cellAt(i) : WindowCell{{nowhere, nowhere, nowhere}, 0}; };
  const auto fetch = [&](int32_t first, int stage) DTCC_INLINE {
    left.fetch(in, thread, first, leftAt);
    if constexpr (cellsAlongDepth)
      gathered.place = cell(first + own, in.end);
    gathered.fetch(in, thread, taps + (cellsAlongDepth ? 0 : stage * depth));
  };
  const auto keep = [&](int stage) DTCC_INLINE {
    left.keep(thread, stages + stage * Memory::stageCells);
    gathered.keep(thread, stages + stage * Memory::stageCells + Tile::leftCells);
  };

  // What stays along the depth is found once: the taps of all columns, or a thread's column.
  if constexpr (cellsAlongDepth) {
    for (int i = thread; i < columns; i += threads)
      taps[i] = tap(in.column + i, in.n);
  } else {
    if (thread < 2 * depth)
      taps[thread] = tap(in.begin + thread, in.end);
    gathered.place = cell(in.column + own, in.n);
  }
  synchronize();
  fetch(in.begin, 0);
  keep(0);
  synchronize();

  Tile tile;
  int stage = 0;
#pragma unroll 1
  for (int32_t first = in.begin; first < in.end; first += depth, stage ^= 1) {
    const bool more = first + depth < in.end;
    if (more)
      fetch(first + depth, stage ^ 1);
    tile.multiply(stages + stage * Memory::stageCells, stages + stage * Memory::stageCells + Tile::leftCells);
    if (more)
      keep(stage ^ 1);
    if constexpr (!cellsAlongDepth)
      if (thread < depth) // its last reader was the fetch of this stage
        taps[stage * depth + thread] = tap(first + 2 * depth + thread, in.end);
    synchronize();
  }
  storeSums<rows>(in, tile, reinterpret_cast<float *>(stages), storeTo);
}

/// leftAt(k): the offset of depth k in a row of `left`. cellAt and tapAt: cell or tap number i, of columns and depths
/// as `cellsAlongDepth` says. storeTo(column): a function of (row, sum), for rows below m. Sums go through shared
/// memory, so that neighbouring lanes store neighbouring columns, and a thread those of one. All threads of the block
/// call.
template <typename T, int rows, bool cellsAlongDepth, typename LeftAt, typename CellAt, typename TapAt,
          typename StoreTo>
DTCC_DEVICE void multiplyWindows(const WindowOperands<typename TileOf<T, rows, cellsAlongDepth>::Cell> &in,
                                 LeftAt leftAt, CellAt cellAt, TapAt tapAt, StoreTo storeTo) {
  if (in.leftChunks)
    multiplyWindowsBy<true, T, rows, cellsAlongDepth>(in, leftAt, cellAt, tapAt, storeTo);
  else
    multiplyWindowsBy<false, T, rows, cellsAlongDepth>(in, leftAt, cellAt, tapAt, storeTo);
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_WINDOWPRODUCT_H
