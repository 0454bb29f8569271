//===- Transpose.cu - Copies that exchange the innermost dimension
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block reads a tile by its rows into shared memory and writes it by its columns, so that neighbours in a warp touch
// neighbours in memory both times. Rows of the tile in shared memory are an odd number of words long: the cells of a
// column lie in different banks.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/Transpose.h"

using namespace dtcc::rt::cuda;

namespace {

/// A tile of a plane: where it begins in both, in cells, and how much of it there is.
struct Tile {
  int64_t from, to;
  int rows, columns;
};

DTCC_DEVICE Tile tileOf(const Transposition &p, int64_t tile) {
  const int64_t across = (p.columns + transposeTile - 1) / transposeTile;
  const int64_t down = (p.rows + transposeTile - 1) / transposeTile;
  const int64_t column = tile % across * transposeTile, row = tile / across % down * transposeTile;
  int64_t plane = tile / across / down;
  Tile found = {row * p.fromStride + column, column * p.toStride + row, 0, 0};
  for (int d = p.rank - 1; d >= 0; --d) {
    found.from += plane % p.sizes[d] * p.fromStrides[d];
    found.to += plane % p.sizes[d] * p.toStrides[d];
    plane /= p.sizes[d];
  }
  found.rows = static_cast<int>(p.rows - row < transposeTile ? p.rows - row : transposeTile);
  found.columns = static_cast<int>(p.columns - column < transposeTile ? p.columns - column : transposeTile);
  return found;
}

DTCC_DEVICE int64_t tilesOf(const Transposition &p) {
  return p.planes * ((p.columns + transposeTile - 1) / transposeTile) * ((p.rows + transposeTile - 1) / transposeTile);
}

template <typename Cell> DTCC_DEVICE void transposeCells(const Transposition &p) {
  DTCC_SHARED Cell cells[transposeTile][transposeTile + (sizeof(Cell) < 4 ? 4 / sizeof(Cell) : 1)];
  constexpr int atOnce = transposeThreads / transposeTile; // rows
  const int inner = threadIndex() % transposeTile, outer = threadIndex() / transposeTile;
  for (int64_t tile = blockX(), tiles = tilesOf(p); tile < tiles; tile += blocksX()) {
    const Tile at = tileOf(p, tile);
    const Cell *from = static_cast<const Cell *>(p.from) + at.from;
    Cell *to = static_cast<Cell *>(p.to) + at.to;
#pragma unroll
    for (int row = 0; row < transposeTile; row += atOnce)
      if (row + outer < at.rows && inner < at.columns)
        cells[row + outer][inner] = from[(row + outer) * p.fromStride + inner];
    synchronize();
#pragma unroll
    for (int column = 0; column < transposeTile; column += atOnce)
      if (column + outer < at.columns && inner < at.rows)
        to[(column + outer) * p.toStride + inner] = cells[inner][column + outer];
    synchronize();
  }
}

} // namespace

DTCC_KERNEL(transpose_1, Transposition, transposeThreads) { transposeCells<uint8_t>(p); }
DTCC_KERNEL(transpose_2, Transposition, transposeThreads) { transposeCells<uint16_t>(p); }
DTCC_KERNEL(transpose_4, Transposition, transposeThreads) { transposeCells<uint32_t>(p); }
DTCC_KERNEL(transpose_8, Transposition, transposeThreads) { transposeCells<uint64_t>(p); }

// A word holds two cells of a row. Two words of one column of words hold two pairs of a column each.
DTCC_KERNEL(transpose_pairs, Transposition, transposeThreads) {
  constexpr int pairs = transposeTile / 2, atOnce = transposeThreads / pairs;
  DTCC_SHARED uint32_t words[transposeTile][pairs + 1];
  const int inner = threadIndex() % pairs, outer = threadIndex() / pairs;
  for (int64_t tile = blockX(), tiles = tilesOf(p); tile < tiles; tile += blocksX()) {
    const Tile at = tileOf(p, tile);
    const uint16_t *from = static_cast<const uint16_t *>(p.from) + at.from;
    uint16_t *to = static_cast<uint16_t *>(p.to) + at.to;
#pragma unroll
    for (int row = 0; row < transposeTile; row += atOnce)
      if (row + outer < at.rows && 2 * inner < at.columns)
        words[row + outer][inner] =
            *reinterpret_cast<const uint32_t *>(from + (row + outer) * p.fromStride + 2 * inner);
    synchronize();
#pragma unroll
    for (int pair = 0; pair < pairs; pair += atOnce) {
      const int column = 2 * (pair + outer);
      if (column >= at.columns || 2 * inner >= at.rows)
        continue;
      const uint32_t first = words[2 * inner][pair + outer], second = words[2 * inner + 1][pair + outer];
      uint16_t *target = to + column * p.toStride + 2 * inner;
      *reinterpret_cast<uint32_t *>(target) = (first & 0xffffu) | (second << 16);
      *reinterpret_cast<uint32_t *>(target + p.toStride) = (first >> 16) | (second & 0xffff0000u);
    }
    synchronize();
  }
}
