//===- Winograd.cpp - Convolutions in tiles of 2 x 2 cells -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes of a vector are the tiles of a row. Transformed values are [position, channel,
// tile]: a row of tiles is stored in whole vectors, whose excess the next row, or the next
// channel, overwrites. Behind the channels of a position there is room for the last excess.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/SmallProduct.h"
#include "runtime/kernels/vector/Table.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

constexpr int side = 4, taps = 3; // of a transformed tile; of a kernel
static_assert(side * side == winogradPositions && winogradChannels % lanes == 0);

DTCC_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
DTCC_INLINE int64_t roundUp(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

DTCC_INLINE Ints laneNumbers() {
  static const int32_t numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return load(numbers);
}

/// The first n cells at `from`, filled up with zeros; `end`: behind the last cell that may be read.
DTCC_INLINE Floats loadSome(const float *from, int64_t n, const float *end) {
  if (n >= lanes)
    return load(from);
  if (n <= 0)
    return broadcast(0.0f);
  if (end - from >= lanes)
    return select(laneNumbers() < Ints((int32_t)n), load(from), broadcast(0.0f));
  float cells[lanes];
  for (int64_t i = 0; i < lanes; ++i)
    cells[i] = i < n ? from[i] : 0.0f;
  return load(cells);
}

/// Stores the first n cells alone.
DTCC_INLINE void storeSome(float *to, Floats cells, int64_t n) {
  if (n >= lanes)
    return store(to, cells);
  float all[lanes];
  store(all, cells);
  for (int64_t i = 0; i < n; ++i)
    to[i] = all[i];
}

template <int... I> DTCC_INLINE Floats pickEvens(Floats a, Floats b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...);
}
template <int... I> DTCC_INLINE Floats pickOdds(Floats a, Floats b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (2 * I + 1)...);
}
typedef MakeIndices<lanes>::Type AllLanes;
DTCC_INLINE Floats evens(Floats a, Floats b) { return pickEvens(a, b, AllLanes()); }
DTCC_INLINE Floats odds(Floats a, Floats b) { return pickOdds(a, b, AllLanes()); }

/// Transformed values of some channels in tiles of some rows.
struct Transformed {
  float *data;
  int64_t step;     // from a channel to the next
  int64_t position; // from a position to the next

  Transformed(float *data, int64_t channels, int64_t tiles)
      : data(data), step(roundUp(tiles, 16)), position(channels * step + 16) {}
  float *at(int64_t channel, int64_t tile) const { return data + channel * step + tile; }
  int64_t floats() const { return winogradPositions * position; }
};

/// Transformed values of all channels, [panel, position, channel, tile]: products read panels from end to end.
struct Panels {
  float *data;
  int64_t channels;
  float *at(int64_t panel, int64_t position, int64_t channel) const {
    return data + ((panel * winogradPositions + position) * channels + channel) * winogradPanel;
  }
};

/// The lines of cells that the transformation of images keeps: one for each row of a tile.
struct Lines {
  float *data;
  int64_t step;

  /// Cleared: cells of padding are never written.
  Lines(float *data, const WinogradProblem &p) : data(data) {
    const int64_t seen = 2 * p.tileColumns + 2, held = p.low[1] + p.image[1];
    step = roundUp(seen > held ? seen : held, lanes) + 3 * lanes;
    for (int64_t i = 0; i < side * step; ++i)
      data[i] = 0;
  }
  float *line(int j) const { return data + j * step; }
  int64_t floats() const { return side * step; }
};

/// B^T d B for a row of tiles of one channel. Lines hold B^T d before it is multiplied from the right.
void transformImage(const WinogradProblem &p, const float *plane, const float *end, int64_t tileRow, const Lines &lines,
                    float *to, int64_t position) {
  const float *rows[side];
  for (int i = 0; i < side; ++i) {
    const int64_t row = 2 * tileRow - p.low[0] + i;
    rows[i] = row >= 0 && row < p.image[0] ? plane + row * p.image[1] : nullptr;
  }
  for (int64_t x = 0; x < p.image[1]; x += lanes) {
    Floats d[side];
    for (int i = 0; i < side; ++i)
      d[i] = rows[i] ? loadSome(rows[i] + x, p.image[1] - x, end) : broadcast(0.0f);
    const int64_t at = p.low[1] + x;
    store(lines.line(0) + at, d[0] - d[2]);
    store(lines.line(1) + at, d[1] + d[2]);
    store(lines.line(2) + at, d[2] - d[1]);
    store(lines.line(3) + at, d[1] - d[3]);
  }
  for (int64_t tile = 0; tile < p.tileColumns; tile += lanes)
    for (int j = 0; j < side; ++j) {
      const float *from = lines.line(j) + 2 * tile;
      const Floats a = load(from), b = load(from + lanes), c = load(from + 2), d = load(from + 2 + lanes);
      const Floats d0 = evens(a, b), d1 = odds(a, b), d2 = evens(c, d), d3 = odds(c, d);
      float *out = to + j * side * position + tile;
      store(out, d0 - d2);
      store(out + position, d1 + d2);
      store(out + 2 * position, d2 - d1);
      store(out + 3 * position, d1 - d3);
    }
}

/// A^T m A for a row of tiles of one channel.
void transformResult(const WinogradProblem &p, const float *from, int64_t position, int64_t tileRow, float *plane) {
  const int64_t width = p.result[1];
  float *top = plane + 2 * tileRow * width;
  const bool two = 2 * tileRow + 1 < p.result[0];
  for (int64_t tile = 0; tile < p.tileColumns; tile += lanes) {
    Floats high[side], low[side];
    for (int j = 0; j < side; ++j) {
      const float *m = from + j * position + tile;
      const Floats m0 = load(m), m1 = load(m + side * position), m2 = load(m + 2 * side * position),
                   m3 = load(m + 3 * side * position);
      high[j] = m0 + m1 + m2;
      low[j] = m1 - m2 - m3;
    }
    const int64_t left = width - 2 * tile;
    const auto write = [&](float *to, const Floats(&m)[side]) __attribute__((always_inline)) {
      const Floats even = m[0] + m[1] + m[2], odd = m[1] - m[2] - m[3];
      storeSome(to, zipLow(even, odd, AllLanes()), left);
      storeSome(to + lanes, zipHigh(even, odd, AllLanes()), left - lanes);
    };
    write(top + 2 * tile, high);
    if (two)
      write(top + width + 2 * tile, low);
  }
}

/// A dy A^T, the gradient of the last, for a row of tiles of one channel.
void transformResultGrad(const WinogradProblem &p, const float *plane, const float *end, int64_t tileRow, float *to,
                         int64_t position) {
  const int64_t width = p.result[1];
  const float *top = plane + 2 * tileRow * width;
  const int64_t second = 2 * tileRow + 1 < p.result[0] ? width : 0;
  for (int64_t tile = 0; tile < p.tileColumns; tile += lanes) {
    const int64_t left = width - 2 * tile;
    Floats even[2], odd[2];
    for (int i = 0; i < 2; ++i) {
      const float *row = top + i * second + 2 * tile;
      const bool holds = i == 0 || second;
      const Floats a = holds ? loadSome(row, left, end) : broadcast(0.0f),
                   b = holds ? loadSome(row + lanes, left - lanes, end) : broadcast(0.0f);
      even[i] = evens(a, b), odd[i] = odds(a, b);
    }
    const auto write = [&](int j, Floats y0, Floats y1) __attribute__((always_inline)) {
      float *out = to + j * side * position + tile;
      store(out, y0);
      store(out + position, y0 + y1);
      store(out + 2 * position, y0 - y1);
      store(out + 3 * position, -y1);
    };
    write(0, even[0], odd[0]);
    write(1, even[0] + even[1], odd[0] + odd[1]);
    write(2, even[0] - even[1], odd[0] - odd[1]);
    write(3, -even[1], -odd[1]);
  }
}

/// The rows of tiles of all samples: which sample, and which row of it.
struct TileRow {
  int64_t sample, row;
  TileRow(const WinogradProblem &p, int64_t i) : sample(i / p.tileRows), row(i % p.tileRows) {}
};

void transformImages(const WinogradProblem &p, const float *x, int64_t firstChannel, int64_t channels, int64_t firstRow,
                     int64_t rows, const Lines &lines, const Transformed &to) {
  const int64_t plane = p.image[0] * p.image[1];
  const float *end = x + p.samples * p.inputs * plane;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t r = 0; r < rows; ++r) {
      const TileRow at(p, firstRow + r);
      transformImage(p, x + (at.sample * p.inputs + firstChannel + c) * plane, end, at.row, lines,
                     to.at(c, r * p.tileColumns), to.position);
    }
}

/// Splits `depth` into equal parts of at most `productDepth`, and returns the size of a part. Adding partial sums
/// rounds less than one long sum.
int64_t evenDepth(int64_t depth) {
  const int64_t parts = (depth + productDepth - 1) / productDepth;
  return (depth + parts - 1) / parts;
}

} // namespace

void winogradKernels(const float *kernels, int64_t first, int64_t last, int64_t step, float *transformed) {
  for (int64_t n = first; n < last; n += lanes) {
    const int64_t count = least(last - n, lanes);
    float cells[taps * taps][lanes];
    for (int64_t l = 0; l < lanes; ++l)
      for (int t = 0; t < taps * taps; ++t)
        cells[t][l] = l < count ? kernels[(n + l) * taps * taps + t] : 0.0f;
    Floats rows[side][taps]; // G g
    for (int j = 0; j < taps; ++j) {
      const Floats g0 = load(cells[j]), g1 = load(cells[taps + j]), g2 = load(cells[2 * taps + j]);
      rows[0][j] = g0;
      rows[1][j] = ((g0 + g2) + g1) * 0.5f;
      rows[2][j] = ((g0 + g2) - g1) * 0.5f;
      rows[3][j] = g2;
    }
    for (int i = 0; i < side; ++i) {
      const Floats g0 = rows[i][0], g1 = rows[i][1], g2 = rows[i][2];
      float *to = transformed + i * side * step + n;
      storeSome(to, g0, count);
      storeSome(to + step, ((g0 + g2) + g1) * 0.5f, count);
      storeSome(to + 2 * step, ((g0 + g2) - g1) * 0.5f, count);
      storeSome(to + 3 * step, g2, count);
    }
  }
}

void winograd(const WinogradProblem &p, const float *transformed, const float *x, float *y, const WinogradPart &part,
              float *scratch) {
  const int64_t tiles = part.rows * p.tileColumns;
  const Lines lines(scratch, p);
  const Transformed channel(scratch + lines.floats(), 1, tiles);
  const Transformed results(channel.data + channel.floats(), winogradOutputs, tiles);
  const Panels panels = {results.data + results.floats(), p.inputs};
  for (int64_t c = 0; c < p.inputs; ++c) {
    transformImages(p, x, c, 1, part.firstRow, part.rows, lines, channel);
    for (int i = 0; i < winogradPositions; ++i)
      for (int64_t t = 0; t < tiles; t += lanes)
        store(panels.at(t / winogradPanel, i, c) + t % winogradPanel, load(channel.at(0, t) + i * channel.position));
  }
  const int64_t depth = evenDepth(p.inputs), step = p.inputs * p.outputs;
  for (int64_t o = 0; o < part.outputs; o += winogradOutputs) {
    const int64_t outputs = least(winogradOutputs, part.outputs - o);
    for (int64_t t = 0; t < tiles; t += winogradPanel)
      for (int i = 0; i < winogradPositions; ++i) {
        // Turned by half, a kernel has its first and last positions exchanged along both dimensions.
        const auto turn = [](int at) __attribute__((always_inline)) { return at == 0 ? 3 : at == 3 ? 0 : at; };
        const int from = p.turned ? turn(i / side) * side + turn(i % side) : i;
        const int64_t outputStep = p.turned ? 1 : p.inputs, inputStep = p.turned ? p.outputs : 1;
        const float *kernels = transformed + from * step + (part.firstOutput + o) * outputStep;
        const int64_t vectors = (least(winogradPanel, tiles - t) + lanes - 1) / lanes;
        float *out = results.at(0, t) + i * results.position;
        for (int64_t c = 0; c < p.inputs; c += depth) {
          const int64_t inputs = least(depth, p.inputs - c);
          const float *left = kernels + c * inputStep, *right = panels.at(t / winogradPanel, i, c);
          if (c == 0)
            product<false>(outputs, vectors, inputs, left, outputStep, inputStep, right, winogradPanel, out,
                           results.step);
          else
            product<true>(outputs, vectors, inputs, left, outputStep, inputStep, right, winogradPanel, out,
                          results.step);
        }
      }
    const int64_t plane = p.result[0] * p.result[1];
    for (int64_t c = 0; c < outputs; ++c)
      for (int64_t r = 0; r < part.rows; ++r) {
        const TileRow at(p, part.firstRow + r);
        transformResult(p, results.at(c, r * p.tileColumns), results.position, at.row,
                        y + (at.sample * p.outputs + part.firstOutput + o + c) * plane);
      }
  }
}

void winogradSum(const WinogradProblem &p, const float *x, const float *dy, const WinogradKernelPart &part, float *sums,
                 float *scratch) {
  const int64_t most = winogradDepth / p.tileColumns > 1 ? winogradDepth / p.tileColumns : 1;
  const Lines lines(scratch, p);
  const int64_t plane = p.result[0] * p.result[1];
  const float *end = dy + p.samples * p.outputs * plane;
  for (int64_t first = 0; first < part.rows; first += most) {
    const int64_t rows = least(most, part.rows - first), tiles = rows * p.tileColumns;
    const Transformed images(scratch + lines.floats(), winogradChannels, tiles);
    const Transformed results(images.data + images.floats(), winogradChannels, tiles);
    float *panel = results.data + results.floats();
    transformImages(p, x, part.firstInput, part.inputs, part.firstRow + first, rows, lines, images);
    for (int64_t c = 0; c < part.outputs; ++c)
      for (int64_t r = 0; r < rows; ++r) {
        const TileRow at(p, part.firstRow + first + r);
        transformResultGrad(p, dy + (at.sample * p.outputs + part.firstOutput + c) * plane, end, at.row,
                            results.at(c, r * p.tileColumns), results.position);
      }
    const int64_t vectors = (part.inputs + lanes - 1) / lanes;
    for (int i = 0; i < winogradPositions; ++i) {
      for (int64_t c = 0; c < vectors * lanes; c += lanes)
        for (int64_t t = 0; t < tiles; t += lanes)
          transposeSquare(images.at(c, t) + i * images.position, images.step, panel + t * winogradChannels + c,
                          winogradChannels, 1.0f);
      const float *left = results.data + i * results.position;
      float *out = sums + i * winogradChannels * winogradChannels;
      if (first == 0)
        product<false>(part.outputs, vectors, tiles, left, results.step, 1, panel, winogradChannels, out,
                       winogradChannels);
      else
        product<true>(part.outputs, vectors, tiles, left, results.step, 1, panel, winogradChannels, out,
                      winogradChannels);
    }
  }
}

void winogradKernelGrad(const WinogradProblem &p, const WinogradKernelPart &part, const float *sums, int64_t parts,
                        bool accumulate, float *dkernel) {
  for (int64_t o = 0; o < part.outputs; ++o)
    for (int64_t c = 0; c < part.inputs; c += lanes) {
      Floats m[side][side];
      for (int i = 0; i < winogradPositions; ++i) {
        const float *from = sums + (i * winogradChannels + o) * winogradChannels + c;
        Floats sum = load(from);
        for (int64_t n = 1; n < parts; ++n)
          sum += load(from + n * winogradSums);
        m[i / side][i % side] = sum;
      }
      // G^T m G.
      float cells[taps * taps][lanes];
      Floats rows[taps][side];
      for (int j = 0; j < side; ++j) {
        const Floats both = (m[1][j] + m[2][j]) * 0.5f;
        rows[0][j] = m[0][j] + both;
        rows[1][j] = (m[1][j] - m[2][j]) * 0.5f;
        rows[2][j] = both + m[3][j];
      }
      for (int i = 0; i < taps; ++i) {
        const Floats both = (rows[i][1] + rows[i][2]) * 0.5f;
        store(cells[i * taps], rows[i][0] + both);
        store(cells[i * taps + 1], (rows[i][1] - rows[i][2]) * 0.5f);
        store(cells[i * taps + 2], both + rows[i][3]);
      }
      float *to = dkernel + ((part.firstOutput + o) * p.inputs + part.firstInput + c) * taps * taps;
      const int64_t count = least(lanes, part.inputs - c);
      for (int64_t l = 0; l < count; ++l)
        for (int t = 0; t < taps * taps; ++t)
          to[l * taps * taps + t] = cells[t][l] + (accumulate ? to[l * taps * taps + t] : 0.0f);
    }
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
