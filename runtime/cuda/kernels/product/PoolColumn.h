//===- PoolColumn.h - The gradient of a maximum down a column of an image
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Images with channels last, and square windows whose sizes the compiler knows: all loads of
// a step are under way at once, and none is repeated.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLCOLUMN_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLCOLUMN_H

#include "runtime/cuda/kernels/Cells.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/product/Pooling.h"

namespace dtcc::rt::cuda {

/// Whether `next` is larger than `value`, which comes before it. NaN is the largest.
DTCC_DEVICE bool beats(float next, float value) { return !(next <= value) && value == value; }

/// A cell of a window with its place, or the first largest of several cells.
struct FloatCandidate {
  float value;
  int32_t place;

  /// Compares with a later cell of the window.
  DTCC_DEVICE void take(const FloatCandidate &next) {
    if (beats(next.value, value))
      *this = next;
  }
  DTCC_DEVICE void moveBy(int32_t distance) { place += distance; }
  DTCC_DEVICE bool isAt(int32_t other) const { return place == other; }
};

/// A candidate of bf16 or f16. The upper half of the key grows with the value, and the lower half falls with the place,
/// so that the largest key is the first of the largest cells. Places are below 2^16.
struct HalfCandidate {
  int32_t key;

  static constexpr uint32_t lowerHalf(int32_t place) { return 0xffffu - static_cast<uint32_t>(place); }
  DTCC_DEVICE void take(const HalfCandidate &next) { key = largest(key, next.key); }
  DTCC_DEVICE void moveBy(int32_t distance) { key -= distance; }
  DTCC_DEVICE bool isAt(int32_t place) const { return static_cast<uint32_t>(key & 0xffff) == lowerHalf(place); }
};

template <int32_t type> struct CellType {
  using Cell = float;
  using Candidate = FloatCandidate;
};
template <> struct CellType<DTCC_BF16> {
  using Cell = __bf16;
  using Candidate = HalfCandidate;
};
template <> struct CellType<DTCC_F16> {
  using Cell = _Float16;
  using Candidate = HalfCandidate;
};

/// Neighbouring channels of a cell in poolColumnBytes aligned bytes.
template <int32_t type> struct Channels {
  using Cell = typename CellType<type>::Cell;
  using Candidate = typename CellType<type>::Candidate;
  static constexpr int count = poolColumnBytes / sizeof(Cell);
  typedef Cell Vector __attribute__((ext_vector_type(count)));

  static DTCC_DEVICE Vector load(const void *data, int32_t offset) {
    return *reinterpret_cast<const Vector *>(static_cast<const Cell *>(data) + offset);
  }
  static DTCC_DEVICE void store(void *data, int32_t offset, const float (&values)[count]) {
    Vector vector;
#pragma unroll
    for (int c = 0; c < count; ++c)
      vector[c] = static_cast<Cell>(values[c]);
    *reinterpret_cast<Vector *>(static_cast<Cell *>(data) + offset) = vector;
  }

  /// The cells as candidates compare them.
  struct Order {
    uint32_t words[poolColumnBytes / 4];

    explicit DTCC_DEVICE Order(Vector cells) {
      if constexpr (type == DTCC_F32) {
        __builtin_memcpy(words, &cells, sizeof words);
      } else {
        // Adding 0 turns -0 into 0, and each NaN into 0x7fff, which is above infinity.
        cells += static_cast<Cell>(0.0f);
        __builtin_memcpy(words, &cells, sizeof words);
        // Two's complement in place of sign and magnitude: 0xbb99 copies the sign of each half to all its bits.
#pragma unroll
        for (uint32_t &word : words)
          word ^= __nvvm_prmt(word, 0, 0xbb99) & 0x7fff7fffu;
      }
    }
    DTCC_DEVICE Candidate at(int c, int32_t place) const {
      if constexpr (type == DTCC_F32) {
        return {__builtin_bit_cast(float, words[c]), place};
      } else {
        const uint32_t word = words[c / 2], low = HalfCandidate::lowerHalf(place);
        // 0x3254: the upper half of `word` above the lower half of `low`.
        return {static_cast<int32_t>(c % 2 == 0 ? (word << 16) + low : __nvvm_prmt(word, low, 0x3254))};
      }
    }
  };
};

/// The gradient of windows of `size` x `size` cells that are `stride` apart, in one column of blocks of an image.
/// Blocks have `stride` x `stride` cells and begin where windows begin, so that the compiler knows the place of each
/// cell of a block in each window that touches the block. The thread goes from the top block down. In each step it
/// finds the largest cells of one row of windows, and adds their gradients to the cells of the thread. It keeps the
/// maxima of the image rows that the next row of windows shares. The columns of the image that a thread reads, for size
/// 3 and stride 2:
///
///     column               0  1  2  3  4
///     window 0             -------
///     window 1                   -------
///     cells of the thread        ----
///
/// A cell outside of the image is replaced by the nearest cell of the image, with the place of the latter. The nearest
/// cell is in the same window, so that the first largest cell of the window stays the same, and loads need no test.
template <int32_t type, int size, int stride> struct PoolColumn {
  using Vectors = Channels<type>;
  using Vector = typename Vectors::Vector;
  using Candidate = typename Vectors::Candidate;
  static constexpr int channels = Vectors::count;
  static constexpr int windows = (size + stride - 1) / stride; // that touch a block, along each dimension
  static constexpr int own = (windows - 1) * stride;           // first column of the thread's cells
  static constexpr int columns = own + size;
  static constexpr int shared = size - stride; // rows of a window that the next one has too
  static constexpr int placesARow = 16;
  static_assert(size >= stride && columns <= placesARow);
  using Largest = Candidate[windows][channels];

  const Pool &p;
  int32_t image, firstWindow, column, channel; // column of the image that is column 0 of the thread
  int32_t offsets[columns], places[columns];   // of the cells in a row

  DTCC_DEVICE PoolColumn(const Pool &p, int32_t image, int32_t block, int32_t channel)
      : p(p), image(image), firstWindow(block - windows + 1), column(firstWindow * stride - p.low[2]),
        channel(channel) {
#pragma unroll
    for (int x = 0; x < columns; ++x) {
      const int32_t nearest = least(largest(column + x, 0), p.image.sizes[2] - 1);
      offsets[x] = nearest * p.channels.value + channel, places[x] = nearest - column;
    }
  }

  /// Computes the blocks [begin, end) of the column.
  DTCC_DEVICE void run(int32_t begin, int32_t end) const {
    Largest kept[shared + 1];
    float sums[size][stride][channels] = {};
    // Windows that begin above block `begin` touch the block too.
    const int32_t first = begin - windows + 1;
#pragma unroll
    for (int row = 0; row < shared; ++row)
      find(first * stride - p.low[1] + row, kept[row]);
#pragma unroll 1
    for (int32_t block = first; block < end; ++block) {
      const int32_t y = block * stride - p.low[1];
      Vector dy[windows];
      loadGradients(block, dy);
      Largest found;
      findInWindows(y, kept, found);
      addGradients(found, dy, sums);
      if (block >= begin)
        store(y, sums);
#pragma unroll
      for (int row = 0; row < size; ++row)
#pragma unroll
        for (int x = 0; x < stride; ++x)
#pragma unroll
          for (int c = 0; c < channels; ++c)
            sums[row][x][c] = row < shared ? sums[row + stride][x][c] : 0.0f;
    }
  }

private:
  static DTCC_DEVICE bool isBelow(int32_t i, int32_t end) {
    return static_cast<uint32_t>(i) < static_cast<uint32_t>(end);
  }
  /// Place of a cell by its row in the window and its column among those of the thread. `row` is at least 1 - size: a
  /// row below the image has the place of the last row of the image, which is above.
  static constexpr int32_t placeOf(int32_t row, int32_t x) { return (row + size) * placesARow + x; }
  /// Offset of row `y` of the image, without its channels.
  DTCC_DEVICE int32_t rowAt(int32_t y) const {
    return (image * p.image.sizes[1] + y) * p.image.sizes[2] * p.channels.value;
  }

  /// Calls fn(window, column of the window, channel, candidate) for the cells of row `y` of the image, from left to
  /// right. Their places are those in windows that begin in row `top` of the image.
  template <typename Fn> DTCC_DEVICE void forEach(int32_t y, int32_t top, Fn fn) const {
    const int32_t nearest = least(largest(y, 0), p.image.sizes[1] - 1), row = rowAt(nearest);
    Vector cells[columns];
#pragma unroll
    for (int x = 0; x < columns; ++x)
      cells[x] = Vectors::load(p.x, row + offsets[x]);
#pragma unroll
    for (int x = 0; x < columns; ++x) {
      const typename Vectors::Order order(cells[x]);
#pragma unroll
      for (int w = 0; w < windows; ++w)
        if (x >= w * stride && x < w * stride + size)
#pragma unroll
          for (int c = 0; c < channels; ++c)
            fn(w, x - w * stride, c, order.at(c, placeOf(nearest - top, places[x])));
    }
  }
  /// Finds the largest cells of row `y` of the image in each window that begins in that row.
  DTCC_DEVICE void find(int32_t y, Largest &found) const {
    forEach(y, y, [&](int w, int x, int c, Candidate cell) DTCC_INLINE {
      if (x == 0)
        found[w][c] = cell;
      else
        found[w][c].take(cell);
    });
  }
  /// Finds the largest cells of the windows that begin in row `y` of the image. `kept` holds the maxima of their shared
  /// rows, and afterwards those of the windows below.
  DTCC_DEVICE void findInWindows(int32_t y, Largest (&kept)[shared + 1], Largest &found) const {
    if constexpr (shared == 0)
      find(y, found);
    else
      copy(kept[0], found);
#pragma unroll
    for (int row = 1; row < size; ++row) {
      if (row >= shared && row < stride) { // no other row of windows has this one
        forEach(y + row, y, [&](int w, int, int c, Candidate cell) DTCC_INLINE { found[w][c].take(cell); });
        continue;
      }
      Largest alone;
      if (row < shared)
        copy(kept[row], alone);
      else
        find(y + row, alone);
      if (row >= stride)
        copy(alone, kept[row - stride]);
#pragma unroll
      for (int w = 0; w < windows; ++w)
#pragma unroll
        for (int c = 0; c < channels; ++c)
          alone[w][c].moveBy(row * placesARow), found[w][c].take(alone[w][c]);
    }
  }
  static DTCC_DEVICE void copy(const Largest &from, Largest &to) {
#pragma unroll
    for (int w = 0; w < windows; ++w)
#pragma unroll
      for (int c = 0; c < channels; ++c)
        to[w][c] = from[w][c];
  }

  /// Loads the gradients of row `row` of windows, which are 0 where no window is.
  DTCC_DEVICE void loadGradients(int32_t row, Vector (&dy)[windows]) const {
    const int32_t firstCell = (image * p.result.sizes[1] + row) * p.result.sizes[2] + firstWindow;
#pragma unroll
    for (int w = 0; w < windows; ++w) {
      dy[w] = static_cast<typename Vectors::Cell>(0.0f);
      if (isBelow(row, p.result.sizes[1]) && isBelow(firstWindow + w, p.result.sizes[2]))
        dy[w] = Vectors::load(p.dy, (firstCell + w) * p.channels.value + channel);
    }
  }
  /// Adds the gradients of a row of windows to the cells of the thread that are in the windows.
  static DTCC_DEVICE void addGradients(const Largest &found, const Vector (&dy)[windows],
                                       float (&sums)[size][stride][channels]) {
#pragma unroll
    for (int row = 0; row < size; ++row)
#pragma unroll
      for (int x = 0; x < stride; ++x)
#pragma unroll
        for (int w = 0; w < windows; ++w)
          if (own + x < w * stride + size)
#pragma unroll
            for (int c = 0; c < channels; ++c)
              if (found[w][c].isAt(placeOf(row, own + x)))
                sums[row][x][c] += static_cast<float>(dy[w][c]);
  }
  /// Stores the block that begins in row `y` of the image.
  DTCC_DEVICE void store(int32_t y, const float (&sums)[size][stride][channels]) const {
#pragma unroll
    for (int row = 0; row < stride; ++row)
#pragma unroll
      for (int x = 0; x < stride; ++x)
        if (isBelow(y + row, p.image.sizes[1]) && isBelow(column + own + x, p.image.sizes[2]))
          Vectors::store(p.y, rowAt(y + row) + offsets[own + x], sums[row][x]);
  }
};

template <int32_t type, int size, int stride> DTCC_DEVICE void maxPoolGradColumns(const Pool &p) {
  const int64_t number = blockX() * poolThreads + threadIndex();
  if (number >= int64_t{p.images} * p.bands.value * p.columns.value * p.units.value)
    return;
  const auto i = static_cast<int32_t>(number);
  const int32_t place = p.units(i), band = p.columns(place), image = p.bands(band);
  // Blocks are numbered like windows, and the first one holds the first cell of the image.
  const int32_t column = p.low[2] / stride + place - band * p.columns.value;
  const int32_t begin = p.low[1] / stride + (band - image * p.bands.value) * p.bandBlocks;
  const int32_t end = (p.low[1] + p.image.sizes[1] - 1) / stride + 1;
  const int32_t channel = (i - place * p.units.value) * Channels<type>::count;
  PoolColumn<type, size, stride>(p, image, column, channel).run(begin, least(begin + p.bandBlocks, end));
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLCOLUMN_H
