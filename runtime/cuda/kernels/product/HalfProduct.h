//===- HalfProduct.h - A tile of a product of halves on tensor cores
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands come in units of eight halves that are adjacent along the depth or across it;
// whoever calls says where a unit lies, so rows may be gathered by number. Two stages in
// shared memory: while one is multiplied, the next is under way to registers; one barrier a
// step. Sums are f32, in ascending order of the depth: a result does not depend on the grid.
//
// Banks: rows of shared memory are an odd multiple of 16 bytes long, so that the eight rows
// that ldmatrix reads at once lie in different banks.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFPRODUCT_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFPRODUCT_H

#include "runtime/cuda/kernels/Mma.h"
#include "runtime/cuda/kernels/product/HalfTile.h"

namespace dtcc::rt::cuda {

struct alignas(16) HalfUnit {
  uint32_t words[4];
};

/// The first `count` (any number) of 8 halves that lie `step` apart, zeros behind them; `adjacent`: as one unit of 16
/// bytes, of which all or none count.
DTCC_DEVICE HalfUnit loadUnit(const uint16_t *from, int64_t step, int64_t count, bool adjacent) {
  HalfUnit unit = {};
  if (adjacent) {
    if (count > 0)
      unit = *reinterpret_cast<const HalfUnit *>(from);
    return unit;
  }
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    // A loop of its own: four units in registers leave no room for all addresses.
#pragma unroll 1
    for (int i = 0; i < 2; ++i)
      if (word * 2 + i < count)
        unit.words[word] |= static_cast<uint32_t>(from[(word * 2 + i) * step]) << i * 16;
  }
  return unit;
}

/// Units of a stage that a thread fetches of each operand.
constexpr int halfUnits = halfTile * halfDepth / 8 / halfThreads;

/// One operand's stage: 128 rows (of the result's rows or columns) by halfDepth.
template <bool alongDepth> struct HalfStage {
  static constexpr int stride = alongDepth ? halfDepth + 8 : halfTile + 8;
  static constexpr int cells = alongDepth ? halfTile * stride : halfDepth * stride;
  /// Unit number i = thread + u * halfThreads, u < halfUnits: where it begins.
  static DTCC_DEVICE int row(int unit) { return alongDepth ? unit / (halfDepth / 8) : unit % (halfTile / 8) * 8; }
  static DTCC_DEVICE int depth(int unit) { return alongDepth ? unit % (halfDepth / 8) * 8 : unit / (halfTile / 8); }
  static DTCC_DEVICE int at(int row, int depth) { return alongDepth ? row * stride + depth : depth * stride + row; }
};

/// Calls store(rowOf(i), j, pair) for adjacent columns j and j + 1 of row i of the square's sums over depths [0,
/// depth). left(row, first), right(column, first): the unit that begins there. All threads of the block call; places
/// past the edges are the caller's matter.
template <typename T, bool leftAlongDepth, bool rightAlongDepth, typename Left, typename Right, typename Row,
          typename Store>
DTCC_DEVICE void multiplyHalves(int64_t depth, Left left, Right right, Row rowOf, Store store) {
  using LeftStage = HalfStage<leftAlongDepth>;
  using RightStage = HalfStage<rightAlongDepth>;
  DTCC_SHARED uint16_t lefts[2][LeftStage::cells] __attribute__((aligned(16)));
  DTCC_SHARED uint16_t rights[2][RightStage::cells] __attribute__((aligned(16)));
  const int l = lane(), warpRow = warp() / 2 * 32, warpColumn = warp() % 2 * 64;
  HalfUnit leftUnits[halfUnits], rightUnits[halfUnits];
  const auto fetch = [&](int64_t first) {
#pragma unroll
    for (int u = 0; u < halfUnits; ++u) {
      const int unit = threadIndex() + u * halfThreads;
      leftUnits[u] = left(LeftStage::row(unit), first + LeftStage::depth(unit));
      rightUnits[u] = right(RightStage::row(unit), first + RightStage::depth(unit));
    }
  };
  const auto keep = [&](int stage) {
#pragma unroll
    for (int u = 0; u < halfUnits; ++u) {
      const int unit = threadIndex() + u * halfThreads;
      *reinterpret_cast<HalfUnit *>(lefts[stage] + LeftStage::at(LeftStage::row(unit), LeftStage::depth(unit))) =
          leftUnits[u];
      *reinterpret_cast<HalfUnit *>(rights[stage] + RightStage::at(RightStage::row(unit), RightStage::depth(unit))) =
          rightUnits[u];
    }
  };
  float sums[2][8][4] = {};
  synchronize(); // a square before this one is done
  fetch(0);
  keep(0);
  synchronize();
  int stage = 0;
#pragma unroll 1
  for (int64_t first = 0; first < depth; first += halfDepth, stage ^= 1) {
    const bool more = first + halfDepth < depth;
    if (more)
      fetch(first + halfDepth);
#pragma unroll
    for (int k = 0; k < halfDepth; k += 16) {
      Squares a[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = warpRow + i * 16;
        a[i] = leftAlongDepth
                   ? loadSquares(lefts[stage] + LeftStage::at(row + l % 16, k + l / 16 * 8))
                   : loadSquaresTransposed(lefts[stage] + LeftStage::at(row + l / 8 % 2 * 8, k + l % 8 + l / 16 * 8));
      }
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const int column = warpColumn + n * 16;
        const Squares b =
            rightAlongDepth
                ? loadSquares(rights[stage] + RightStage::at(column + l % 8 + l / 16 * 8, k + l / 8 % 2 * 8))
                : loadSquaresTransposed(rights[stage] + RightStage::at(column + l / 16 * 8, k + l % 16));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          multiplyAdd<T>(sums[i][n * 2], a[i], b.at[0], b.at[1]);
          multiplyAdd<T>(sums[i][n * 2 + 1], a[i], b.at[2], b.at[3]);
        }
      }
    }
    if (more)
      keep(stage ^ 1);
    synchronize();
  }
  storeSums(sums, warpRow, warpColumn, rowOf, store);
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFPRODUCT_H
