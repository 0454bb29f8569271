//===- PoolingOps.cpp - Pooling as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/Pooling.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/kernels/ops/WindowCommands.h"

#include <optional>

namespace dtcc::rt::cuda {
namespace {

/// Samples of one launch, whose arithmetic is of 32 bits.
int64_t samplesOf(const PoolProblem &problem, const CheckedOperands &operands) {
  const Window &w = problem.window;
  const int64_t sample = problem.channels * std::max(w.imageCells(), w.resultCells());
  int64_t most = sample;
  for (int d = 0; d < 3; ++d)
    most = std::max({most, w.image[d] + w.low[d] + w.window[d] * w.dilations[d], w.result[d] * w.strides[d]});
  if (constexpr int64_t reach = int64_t{1} << 30; most >= reach)
    operands.reject("cells of a sample, and those that a window reaches, must be fewer than ", reach, ", got: ", most);
  constexpr int64_t mostCells = (int64_t{1} << 31) - 2 * poolThreads;
  return std::min(mostCells / std::max<int64_t>(sample, 1), mostCells / std::max<int64_t>(problem.channels, 1));
}

int32_t narrow(int64_t value) { return static_cast<int32_t>(value); }
Division divisionBy(int64_t value) { return Division::by(narrow(std::max<int64_t>(value, 1))); }
Box boxOf(const int64_t (&sizes)[3]) { return Box::of(narrow(sizes[0]), narrow(sizes[1]), narrow(sizes[2])); }

/// A tile of dx for max_pool_grad: as many cells as the shared memory has windows for that touch them.
class Tile {
public:
  /// `strip`: cells of 16 bytes.
  Tile(const PoolProblem &problem, int64_t strip) : w(problem.window) {
    // Few channels are neighbours in memory before cells are, if channels are last.
    planes = problem.channelsLast ? std::min<int64_t>(problem.channels, 32) : 1;
    while (planes > 1 && windowsOf(size) * planes > poolTileWindows)
      planes /= 2;
    // Rows first, in whole strips; then as many as fit, all of a size.
    for (int d : {2, 1, 0}) {
      const int64_t unit = d == 2 ? strip : 1;
      for (int64_t wide = unit; size[d] < w.image[d]; wide *= 2) {
        int64_t larger[3] = {size[0], size[1], size[2]};
        larger[d] = std::min(wide, w.image[d]);
        if (windowsOf(larger) * planes > poolTileWindows || cellsOf(larger) * planes > mostCells)
          break;
        size[d] = larger[d];
      }
      const int64_t parts = partsOf(std::max<int64_t>(w.image[d], 1), size[d]);
      size[d] = std::min(partsOf(partsOf(std::max<int64_t>(w.image[d], 1), parts), unit) * unit,
                         std::max(size[d], int64_t{1}));
    }
    // Small images share a block.
    while (!problem.channelsLast && planes < problem.planes && windowsOf(size) * planes * 2 <= poolTileWindows &&
           cellsOf(size) * planes * 2 <= mostCells)
      planes *= 2;
  }
  bool fits() const { return windowsOf(size) * planes <= poolTileWindows; }
  /// Windows along dimension `d` that touch so many neighbouring cells.
  int64_t windowsAlong(int d, int64_t cells) const {
    return std::clamp<int64_t>((cells - 1 + (w.window[d] - 1) * w.dilations[d]) / w.strides[d] + 1, 1,
                               std::max<int64_t>(w.result[d], 1));
  }
  int64_t tiles(int d) const { return partsOf(w.image[d], size[d]); }

  int64_t planes, size[3] = {1, 1, 1};

private:
  static constexpr int64_t mostCells = 16384;
  int64_t windowsOf(const int64_t (&cells)[3]) const {
    return windowsAlong(0, cells[0]) * windowsAlong(1, cells[1]) * windowsAlong(2, cells[2]);
  }
  static int64_t cellsOf(const int64_t (&cells)[3]) { return cells[0] * cells[1] * cells[2]; }

  const Window &w;
};

class PoolOp final : public CudaOp {
public:
  PoolOp(const CheckedOperands &operands, Rank &, Launcher &launcher, bool gradient)
      : problem(PoolCommand(operands, gradient).problem), gradient(gradient), isLast(problem.channelsLast) {
    const Window &w = problem.window;
    mostSamples = samplesOf(problem, operands);
    samples = problem.planes / std::max<int64_t>(problem.channels, 1);
    setParameters();
    kernel = Kernel(launcher, "Pooling", gradient ? bindGradient() : isLast ? "max_pool_last" : "max_pool");
    cells = gradient ? w.imageCells() : w.resultCells();
    if (const char *name = gradient ? columnKernelName() : nullptr)
      columnKernel.emplace(launcher, "Pooling", name);
  }
  void run(Rank &, const Call &call) override {
    const auto *x = address<const char>(call, gradient ? 1 : 0),
               *dy = gradient ? address<const char>(call, 0) : nullptr;
    auto *y = address<char>(call, gradient ? 2 : 1);
    // Units of 16 bytes lie so in all tensors, or in none.
    p.unit = divides && isAligned(x, 16) && isAligned(y, 16) && (!dy || !isLast || isAligned(dy, 16)) ? strip : 1;
    const bool isByColumns = columnKernel && p.unit == strip;
    const int64_t cellBytes = dtcc_dtype_size(problem.type), sampleBytes = problem.channels * cellBytes;
    p.units = divisionBy(isByColumns ? sampleBytes / poolColumnBytes : p.channels.value / p.unit);
    for (int64_t first = 0; first < samples; first += mostSamples) {
      const int64_t count = std::min(mostSamples, samples - first);
      p.planes = narrow(count * problem.channels);
      const int64_t images = first * sampleBytes * problem.window.imageCells();
      const int64_t results = first * sampleBytes * problem.window.resultCells();
      p.x = x + images, p.dy = gradient ? dy + results : nullptr, p.y = y + (gradient ? images : results);
      if (isByColumns) {
        (*columnKernel)(call, partsOf(cutIntoBands(count), poolThreads), poolThreads, p);
        continue;
      }
      const int64_t blocks = isTiled ? partsOf(p.planes, p.tilePlanes.value) * p.tiles.cells()
                                     : partsOf(p.planes * cells / (isLast ? p.unit : 1), poolThreads);
      kernel(call, blocks, poolThreads, p);
    }
  }

private:
  void setParameters() {
    const Window &w = problem.window;
    p.image = boxOf(w.image), p.result = boxOf(w.result);
    for (int d = 0; d < 3; ++d) {
      p.window[d] = narrow(w.window[d]), p.low[d] = narrow(w.low[d]);
      p.strides[d] = divisionBy(w.strides[d]), p.dilations[d] = divisionBy(w.dilations[d]);
    }
    p.imageCells = divisionBy(w.imageCells()), p.resultCells = divisionBy(w.resultCells());
    p.channels = divisionBy(problem.channels);
    p.last = isLast, p.type = problem.type;
    strip = problem.type == DTCC_F32 ? 4 : 8;
    divides = (isLast ? problem.channels : w.image[2]) % strip == 0;
  }
  /// The kernel of the gradient.
  const char *bindGradient() {
    const Window &w = problem.window;
    // A thread of max_pool_grad_last reads the cells of each window that reads its cell.
    int64_t reads = w.windowCells();
    for (int d = 0; d < 3; ++d)
      reads *= partsOf(w.window[d], w.strides[d]);
    constexpr int64_t mostReads = 128;
    const Tile tile(problem, strip);
    if (!tile.fits() || (isLast && reads <= mostReads)) {
      if (!isLast)
        p.channels = divisionBy(1), divides = false;
      return "max_pool_grad_last";
    }
    isTiled = true;
    int64_t tiles[3], windows[3], strips[3];
    for (int d = 0; d < 3; ++d) {
      p.tile[d] = narrow(tile.size[d]);
      tiles[d] = tile.tiles(d), windows[d] = tile.windowsAlong(d, tile.size[d]);
      strips[d] = partsOf(tile.size[d], d == 2 ? strip : 1);
    }
    p.tiles = boxOf(tiles), p.tileWindows = boxOf(windows), p.strips = boxOf(strips);
    p.tileCount = divisionBy(p.tiles.cells()), p.tilePlanes = divisionBy(tile.planes);
    p.windowCount = divisionBy(p.tileWindows.cells()), p.stripCount = divisionBy(p.strips.cells());
    return "max_pool_grad";
  }

  /// The kernel of the gradient that goes down columns of blocks, or null if the windows have none.
  const char *columnKernelName() const {
    const Window &w = problem.window;
    const bool isFlat = w.window[0] == 1 && w.strides[0] == 1 && w.low[0] == 0 && w.result[0] == w.image[0];
    const bool isSquare = w.window[1] == w.window[2] && w.strides[1] == w.strides[2];
    if (!isLast || !divides || !isFlat || !isSquare || w.dilations[1] != 1 || w.dilations[2] != 1 ||
        problem.channels * w.imageCells() == 0)
      return nullptr;
    struct Row {
      int64_t window, stride;
      const char *name;
    };
    for (const Row &row : {Row{2, 2, "max_pool_grad_2_2"}, {3, 1, "max_pool_grad_3_1"}, {3, 2, "max_pool_grad_3_2"}})
      if (w.window[1] == row.window && w.strides[1] == row.stride)
        return row.name;
    return nullptr;
  }
  /// Cuts columns of blocks into bands. Long bands share more rows of the image, and short ones make more threads.
  /// Returns how many threads compute `count` samples.
  int64_t cutIntoBands(int64_t count) {
    const Window &w = problem.window;
    const auto blocksAlong = [&](int d) {
      return (w.low[d] + w.image[d] - 1) / w.strides[d] - w.low[d] / w.strides[d] + 1;
    };
    constexpr int64_t longest = 16, shortest = 4, enoughThreads = int64_t{1} << 18;
    const int64_t images = count * w.image[0], rows = blocksAlong(1), columns = blocksAlong(2);
    const int64_t threadsOfARow = images * columns * p.units.value;
    int64_t band = longest;
    while (band > shortest && threadsOfARow * partsOf(rows, band) < enoughThreads)
      band /= 2;
    const int64_t bands = partsOf(rows, band);
    p.images = narrow(images), p.bandBlocks = narrow(partsOf(rows, bands));
    p.bands = divisionBy(bands), p.columns = divisionBy(columns);
    return threadsOfARow * bands;
  }

  PoolProblem problem;
  Pool p = {};
  bool gradient, isLast, isTiled = false, divides = false;
  int32_t strip = 1;
  int64_t samples = 0, mostSamples = 1, cells = 0;
  Kernel kernel;
  std::optional<Kernel> columnKernel;
};

} // namespace

DTCC_CUDA_OP(MAX_POOL, PoolOp, /*gradient=*/false)
DTCC_CUDA_OP(MAX_POOL_GRAD, PoolOp, /*gradient=*/true)

} // namespace dtcc::rt::cuda
