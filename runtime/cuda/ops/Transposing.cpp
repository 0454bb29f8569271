//===- Transposing.cpp - Copies that exchange the innermost dimension
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/Transposing.h"

#include <string>

namespace dtcc::rt::cuda {
namespace {

/// Cells of a row or column below which tiles would be nearly empty. Kernels of 3 x 3 cells with channels last are
/// copied in a third of the time one by one (H200).
constexpr int64_t kLeastCells = 32;

} // namespace

std::optional<Transposing> Transposing::make(const std::vector<CopyDim> &dims, Launcher &launcher) {
  const int64_t bytes = dims.back().size;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    return std::nullopt;
  Transposing found;
  Transposition &p = found.p;
  p.planes = 1;
  bool hasColumns = false, hasRows = false, even = bytes == 2;
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    const CopyDim &dim = dims[d];
    if (dim.from % bytes || dim.to % bytes)
      return std::nullopt;
    const int64_t from = dim.from / bytes, to = dim.to / bytes;
    // Pairs start at even places, however far the other dimensions go.
    if (from == 1 && !hasColumns) {
      hasColumns = true, p.columns = dim.size, p.toStride = to;
      even &= dim.size % 2 == 0 && to % 2 == 0;
      continue;
    }
    if (to == 1 && !hasRows) {
      hasRows = true, p.rows = dim.size, p.fromStride = from;
      even &= dim.size % 2 == 0 && from % 2 == 0;
      continue;
    }
    even &= from % 2 == 0 && to % 2 == 0;
    p.sizes[p.rank] = dim.size, p.fromStrides[p.rank] = from, p.toStrides[p.rank++] = to;
    p.planes *= dim.size;
  }
  if (!hasColumns || !hasRows || p.columns < kLeastCells || p.rows < kLeastCells)
    return std::nullopt;
  found.cells = Kernel(launcher, "Transpose", ("transpose_" + std::to_string(bytes)).c_str());
  found.pairs = even, found.cellBytes = static_cast<uint64_t>(bytes);
  if (even)
    found.twoCells = Kernel(launcher, "Transpose", "transpose_pairs");
  found.blocks = loopBlocks(p.planes * partsOf(p.columns, transposeTile) * partsOf(p.rows, transposeTile), launcher);
  return found;
}

bool Transposing::fits(const void *from, const void *to) const {
  return isAligned(from, cellBytes) && isAligned(to, cellBytes);
}

void Transposing::run(const Call &call, const void *from, void *to) const {
  Transposition here = p;
  here.from = from, here.to = to;
  (pairs && isAligned(from, 4) && isAligned(to, 4) ? twoCells : cells)(call, blocks, transposeThreads, here);
}

} // namespace dtcc::rt::cuda
