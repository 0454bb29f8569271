//===- GradSquaresLaunch.h - Squares of the gradients that an update has
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An update of a share of a bucket launches it before it changes anything, in runs that ask for norms of gradients
// (--grad-norms). In steps that are not asked for them the kernels end at once: a step that is kept as a CUDA graph is
// then the same for both.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_UPDATES_GRADSQUARESLAUNCH_H
#define DTCC_RUNTIME_CUDA_OPS_UPDATES_GRADSQUARESLAUNCH_H

#include "runtime/cuda/kernels/updates/GradSquares.h"
#include "runtime/cuda/ops/Launch.h"
#include "runtime/kernels/ops/updates/UpdateRanges.h"

namespace dtcc::rt::cuda {

class GradSquaresLaunch {
public:
  /// Nothing is launched if the run asks for no norms, or another rank holds all cells of the share too and is the one
  /// that counts them.
  GradSquaresLaunch(const BucketSegments &segments, int64_t communicator, dtcc_dtype type, const Rank &rank,
                    Launcher &launcher);
  void run(const Rank &rank, const Call &call, const void *grad) const;

private:
  GradSquaresOfShare p = {};
  int64_t pieceCount = 0;
  Kernel pieces, tensors;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_UPDATES_GRADSQUARESLAUNCH_H
