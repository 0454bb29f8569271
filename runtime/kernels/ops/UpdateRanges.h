//===- UpdateRanges.h - The segments of a share of a bucket
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_UPDATERANGES_H
#define DTCC_RUNTIME_KERNELS_OPS_UPDATERANGES_H

#include "runtime/kernels/WholeTensor.h"
#include "runtime/kernels/ops/CheckedOperands.h"

#include <vector>

namespace dtcc::rt {

/// The segments of a bucket that overlap this rank's share of `size` elements (its index in the communicator, or -1),
/// in the share's own offsets and in ascending order. Neighbours with equal hyperparameters are one range. Rejects
/// segments that overlap.
std::vector<UpdateRange> updateRanges(const CheckedOperands &operands, const Rank &rank, int64_t bucket,
                                      int64_t communicator, int64_t size);

/// The segments of a bucket, each with its number among them and its state. Segments that overlap are rejected.
struct BucketSegments {
  std::vector<const dtcc_segment *> all; /* ascending */
  std::vector<TensorRange> ranges;       /* of those that overlap this rank's share */
};
BucketSegments bucketSegments(const CheckedOperands &operands, const Rank &rank, int64_t bucket, int64_t communicator,
                              int64_t size);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_UPDATERANGES_H
