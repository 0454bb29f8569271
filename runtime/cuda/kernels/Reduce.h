//===- Reduce.h - Sums and maxima over the threads of a block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a fixed order: the lanes of a warp by exchange, then the warps in theirs.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_REDUCE_H
#define DTCC_RUNTIME_CUDA_KERNELS_REDUCE_H

#include "runtime/cuda/kernels/Device.h"

namespace dtcc::rt::cuda {

/// Every lane gets combine of the values of its warp. All lanes of the warp call it.
template <typename T, typename Combine> DTCC_DEVICE T reduceWarp(T value, Combine combine) {
  for (int mask = warpSize / 2; mask > 0; mask /= 2)
    value = combine(value, exchange(value, mask));
  return value;
}

/// Every thread gets combine of all threads' values. `room` is shared memory for one value a warp, which is free
/// again after the next barrier. The block has whole warps, and all of its threads call.
template <typename T, typename Combine> DTCC_DEVICE T reduceBlock(T value, T *room, Combine combine) {
  value = reduceWarp(value, combine);
  synchronize();
  if (lane() == 0)
    room[warp()] = value;
  synchronize();
  T result = room[0];
  for (int w = 1; w < blockThreads() / warpSize; ++w)
    result = combine(result, room[w]);
  return result;
}

/// The sum over all threads.
DTCC_DEVICE double sumBlock(double value, double *room) {
  return reduceBlock(value, room, [](double a, double b) { return a + b; });
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_REDUCE_H
