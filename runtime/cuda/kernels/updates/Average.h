//===- Average.h - Parameters of the kernels of averages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_UPDATES_AVERAGE_H
#define DTCC_RUNTIME_CUDA_KERNELS_UPDATES_AVERAGE_H

#include <cstdint>

namespace dtcc::rt::cuda {

constexpr int averageThreads = 256;
/// Elements of a block: four threads' worth of 16 bytes each.
constexpr int64_t averageChunk = averageThreads * 4 * 4;

/// average, exchange_average: a block a chunk.
struct Average {
  float *p, *average;
  int64_t size;
  const int64_t *step; // average: the number of the step
  double decay;        // average: how much of an average stays
  void *copy;          // exchange_average: what p then holds, in `copyType`; or null
  int32_t copyType;    // dtcc_dtype
  int32_t aligned;     // four elements of each can be read at once
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_UPDATES_AVERAGE_H
