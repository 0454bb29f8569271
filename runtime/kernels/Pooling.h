//===- Pooling.h - Maxima of windows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Planes (examples and channels) are independent: threads share them out, and a plane's
// gradient is added up in the order of its windows.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_POOLING_H
#define DTCC_RUNTIME_KERNELS_POOLING_H

#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/Window.h"

namespace dtcc::rt {

/// y [planes, result]: the largest cell of each window of x [planes, image], NaN if one is.
void maxPool(ThreadTeam &team, const Window &window, int64_t planes, const float *x, float *y);

/// dx: each dy is added to the first of the largest cells of its window.
void maxPoolGrad(ThreadTeam &team, const Window &window, int64_t planes, const float *dy, const float *x, float *dx);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_POOLING_H
