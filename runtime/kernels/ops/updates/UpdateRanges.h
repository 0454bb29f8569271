//===- UpdateRanges.h - The segments of a share of a bucket
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_UPDATES_UPDATERANGES_H
#define DTCC_RUNTIME_KERNELS_OPS_UPDATES_UPDATERANGES_H

#include "runtime/abi/TensorFactors.h"
#include "runtime/image/Block.h"
#include "runtime/kernels/WholeTensor.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOp.h"

#include <vector>

namespace dtcc::rt {

/// The segments of a bucket, each with its number among them and its state.
struct BucketSegments {
  std::vector<const dtcc_segment *> all; /* ascending */
  /// The ranges of this rank's share of the bucket that the segments overlap, in the share's own offsets, ascending.
  std::vector<TensorRange> ranges;
};
/// The share has `size` elements, and its number is the rank's index in the communicator, or 0 for -1. Rejects segments
/// that overlap.
BucketSegments bucketSegments(const CheckedOperands &operands, const Rank &rank, int64_t bucket, int64_t communicator,
                              int64_t size);

/// The rows and columns of the whole tensor of a segment.
inline TensorFactors factorsOf(const dtcc_segment &segment, const Rank &rank) {
  const dtcc_state &state = rank.image.states()[segment.state];
  return tensorFactors(state.saved_sizes, state.saved_rank);
}

/// The layout of the share that an update has of a state: that of its bucket, cut by the communicator.
StateLayout shareLayout(const dtcc_segment &segment, const Rank &rank, int64_t communicator);

/// The ranges of a share; neighbours with equal hyperparameters are one.
std::vector<UpdateRange> updateRanges(const BucketSegments &segments);

/// An op that updates state by this rank's share of the gradients of a bucket. Operands begin with the gradients, their
/// scale, the rate and the number of the step; attributes with the bucket and the communicator of its shares. Where the
/// step is asked for norms of gradients, the op adds its share's squares to them (Rank::gradSquares).
class GradientOp : public LibraryOp {
public:
  void run(Rank &rank, void *const *buffers) final {
    if (rank.gradSquares)
      addSquares(rank, gradient(buffers));
    update(rank, buffers);
  }

protected:
  GradientOp(const CheckedOperands &operands, const Rank &rank, size_t required, size_t attributes,
             bool takesHalves = false);
  virtual void update(Rank &rank, void *const *buffers) = 0;

  GradientCells gradient(void *const *buffers) const { return {buffers[0], gradientType}; }
  static float *floats(void *const *buffers, size_t i) { return static_cast<float *>(buffers[i]); }
  static int64_t stepOf(void *const *buffers) { return *static_cast<const int64_t *>(buffers[3]); }

  int64_t size, communicator;
  BucketSegments segments;

private:
  void addSquares(Rank &rank, GradientCells grad) const;
  dtcc_dtype gradientType;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_UPDATES_UPDATERANGES_H
