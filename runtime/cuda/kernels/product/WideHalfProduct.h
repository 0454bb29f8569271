//===- WideHalfProduct.h - A wide tile of a product of halves on tensor cores
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HalfProduct.h for operands whose units of eight halves are adjacent: 128 x 256 cells a
// block, 64 x 64 a warp. A warp reads a cell of shared memory for 32 operations, where a
// square of 32 x 64 reads one for 21 and is bound by that; a block reads a cell of global
// memory for 85 instead of 64. Copies go to shared memory by themselves, three steps ahead.
// Sums are f32, in ascending order of the depth: a result does not depend on the grid.
//
// Banks: the units of eight neighbouring rows that ldmatrix reads at once lie in different
// banks, because a unit's number is exchanged by bits of its row's.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_WIDEHALFPRODUCT_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_WIDEHALFPRODUCT_H

#include "runtime/cuda/kernels/product/AsyncCopy.h"
#include "runtime/cuda/kernels/product/HalfTile.h"

namespace dtcc::rt::cuda {

/// One operand's stage: `rows` rows (of the result's rows or columns) by wideDepth.
template <int rows, bool alongDepth> struct WideStage {
  static constexpr int cells = rows * wideDepth;
  /// Units that a thread copies.
  static constexpr int units = cells / 8 / wideThreads;
  /// Unit u of this thread: where it begins.
  static DTCC_DEVICE int row(int u) { return alongDepth ? number(u) / (wideDepth / 8) : number(u) % (rows / 8) * 8; }
  static DTCC_DEVICE int depth(int u) { return alongDepth ? number(u) % (wideDepth / 8) * 8 : number(u) / (rows / 8); }
  /// The offset of a unit in halves.
  static DTCC_DEVICE int at(int row, int depth) {
    return alongDepth ? (row * (wideDepth / 8) + (depth / 8 ^ (row / 2 & 3))) * 8
                      : (depth * (rows / 8) + (row / 8 ^ (depth & 7))) * 8;
  }

private:
  static DTCC_DEVICE int number(int u) { return threadIndex() + u * wideThreads; }
};

/// A unit of eight halves in global memory, or zeros.
struct WideUnit {
  const uint16_t *from;
  bool exists;
};

/// Calls store(rowOf(i), j, pair) for adjacent columns j and j + 1 of row i of the tile's sums over depths [0, depth).
/// left and right have prepare(first), which is called a step before unit(u, first): the unit that this thread copies
/// as its number u of the stage that begins at depth `first`. All threads of the block call, with wideSharedBytes of
/// dynamic shared memory; places past the edges are the caller's matter.
template <typename T, bool leftAlongDepth, bool rightAlongDepth, typename Left, typename Right, typename Row,
          typename Store>
DTCC_DEVICE void multiplyWide(int64_t depth, Left left, Right right, Row rowOf, Store store) {
  using LeftStage = WideStage<wideRows, leftAlongDepth>;
  using RightStage = WideStage<wideColumns, rightAlongDepth>;
  constexpr int stageCells = LeftStage::cells + RightStage::cells;
  static_assert(stageCells * wideStages * 2 == wideSharedBytes);
  auto *const stages = reinterpret_cast<uint16_t *>(dynamicShared);
  const int l = lane(), warpRow = warp() / 4 * 64, warpColumn = warp() % 4 * 64;

  const auto copy = [&](int64_t first, int slot) DTCC_INLINE {
    if (first < depth) {
      uint16_t *const lefts = stages + slot * stageCells, *const rights = lefts + LeftStage::cells;
#pragma unroll
      for (int u = 0; u < LeftStage::units; ++u) {
        const WideUnit unit = left.unit(u, first);
        copyUnitLater(lefts + LeftStage::at(LeftStage::row(u), LeftStage::depth(u)), unit.from, unit.exists);
      }
#pragma unroll
      for (int u = 0; u < RightStage::units; ++u) {
        const WideUnit unit = right.unit(u, first);
        copyUnitLater(rights + RightStage::at(RightStage::row(u), RightStage::depth(u)), unit.from, unit.exists);
      }
    }
    endCopyGroup(); // an empty one, too: groups are counted
    left.prepare(first + wideDepth);
    right.prepare(first + wideDepth);
  };

  synchronize(); // the tile before this one is done
  left.prepare(0);
  right.prepare(0);
#pragma unroll
  for (int slot = 0; slot < wideStages - 1; ++slot)
    copy(slot * wideDepth, slot);
  float sums[4][8][4] = {};
  int slot = 0;
#pragma unroll 1
  for (int64_t first = 0; first < depth; first += wideDepth) {
    awaitCopyGroups<wideStages - 2>();
    synchronize(); // the stage is there, and the one before it is no longer read
    copy(first + (wideStages - 1) * wideDepth, slot == 0 ? wideStages - 1 : slot - 1);
    const uint16_t *const lefts = stages + slot * stageCells, *const rights = lefts + LeftStage::cells;
#pragma unroll
    for (int k = 0; k < wideDepth; k += 16) {
      Squares a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = warpRow + i * 16;
        a[i] = leftAlongDepth
                   ? loadSquares(lefts + LeftStage::at(row + l % 16, k + l / 16 * 8))
                   : loadSquaresTransposed(lefts + LeftStage::at(row + l / 8 % 2 * 8, k + l % 8 + l / 16 * 8));
      }
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const int column = warpColumn + n * 16;
        const Squares b = rightAlongDepth
                              ? loadSquares(rights + RightStage::at(column + l % 8 + l / 16 * 8, k + l / 8 % 2 * 8))
                              : loadSquaresTransposed(rights + RightStage::at(column + l / 16 * 8, k + l % 16));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          multiplyAdd<T>(sums[i][n * 2], a[i], b.at[0], b.at[1]);
          multiplyAdd<T>(sums[i][n * 2 + 1], a[i], b.at[2], b.at[3]);
        }
      }
    }
    slot = slot == wideStages - 1 ? 0 : slot + 1;
  }
  storeSums(sums, warpRow, warpColumn, rowOf, store);
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_WIDEHALFPRODUCT_H
