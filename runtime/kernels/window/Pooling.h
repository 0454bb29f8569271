//===- Pooling.h - Maxima of windows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Planes (samples and channels) are independent: threads share them out, and a plane's
// gradient is added up in the order of its windows. Planes of halves are widened in a
// thread's scratch memory; a gradient is rounded once it is complete.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_WINDOW_POOLING_H
#define DTCC_RUNTIME_KERNELS_WINDOW_POOLING_H

#include "runtime/core/TeamScratch.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/vector/VectorKernels.h"
#include "runtime/kernels/vector/Window.h"

namespace dtcc::rt {

/// Every window holds a cell of the image, which has less than 2^31 cells.
struct PoolProblem {
  int64_t planes = 0; // samples and channels
  Window window;
  dtcc_dtype type = DTCC_F32; // of all tensors: f32, bf16 or f16
  int64_t channels = 1;       // of a sample
  bool channelsLast = false;  // [samples, image, channels] in memory; the functions below take planes alone
};

/// Floats of scratch memory that a thread needs for either.
int64_t poolScratch(const PoolProblem &problem);

/// y [planes, result]: the largest cell of each window of x [planes, image], NaN if one is.
void maxPool(ThreadTeam &team, const VectorKernels &kernels, const PoolProblem &problem, const void *x, void *y,
             const TeamScratch &scratch);

/// dx: each dy is added to the first of the largest cells of its window.
void maxPoolGrad(ThreadTeam &team, const VectorKernels &kernels, const PoolProblem &problem, const void *dy,
                 const void *x, void *dx, const TeamScratch &scratch);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_WINDOW_POOLING_H
