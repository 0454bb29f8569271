//===- Chunks.h - The cells of a share, a chunk a block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_UPDATES_CHUNKS_H
#define DTCC_RUNTIME_CUDA_KERNELS_UPDATES_CHUNKS_H

#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/updates/Ranges.h"
#include "runtime/cuda/kernels/updates/WholeTensor.h"

namespace dtcc::rt::cuda {

/// Calls `cell(i)` for the cells of the block's chunk.
template <typename Cell> DTCC_DEVICE void forChunk(int64_t size, Cell cell) {
  const int64_t begin = blockX() * wholeTensorChunk, end = least(begin + wholeTensorChunk, size);
  for (int64_t i = begin + threadIndex(); i < end; i += wholeTensorThreads)
    cell(i);
}

/// Calls `cell(i, number of the range that has it)` for the cells of the block's chunk; that of a cell outside every
/// range is -1. A thread's cells ascend, so it searches the ranges once.
template <typename Range, typename Cell>
DTCC_DEVICE void forChunkInRanges(const Range *ranges, int64_t count, int64_t size, Cell cell) {
  const int64_t first = blockX() * wholeTensorChunk + threadIndex();
  int64_t range = firstRangeBehind(ranges, count, first);
  forChunk(size, [&](int64_t i) {
    while (range < count && ranges[range].end <= i)
      ++range;
    cell(i, range < count && ranges[range].begin <= i ? range : -1);
  });
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_UPDATES_CHUNKS_H
