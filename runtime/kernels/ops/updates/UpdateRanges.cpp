//===- UpdateRanges.cpp - The segments of a share of a bucket
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/updates/UpdateRanges.h"

#include <algorithm>

namespace dtcc::rt {

BucketSegments bucketSegments(const CheckedOperands &operands, const Rank &rank, int64_t bucket, int64_t communicator,
                              int64_t size) {
  if (bucket < 0 || bucket >= static_cast<int64_t>(rank.image.buckets().size()))
    operands.reject("bucket must be below ", rank.image.buckets().size(), ", got: ", bucket);
  const int64_t offset = rank.groupIndex(communicator) * size;
  BucketSegments found;
  for (const dtcc_segment &segment : rank.image.segments())
    if (static_cast<int64_t>(segment.bucket) == bucket)
      found.all.push_back(&segment);
  std::sort(found.all.begin(), found.all.end(), [](const auto *a, const auto *b) { return a->offset < b->offset; });
  for (size_t i = 0; i < found.all.size(); ++i) {
    const dtcc_segment &segment = *found.all[i];
    if (i > 0 && found.all[i - 1]->offset + found.all[i - 1]->length > segment.offset)
      operands.reject("segments of bucket ", bucket, " overlap at element ", segment.offset);
    int64_t begin = std::max<int64_t>(segment.offset - offset, 0);
    int64_t end = std::min(segment.offset + segment.length - offset, size);
    if (begin < end)
      found.ranges.push_back({begin, end, static_cast<int64_t>(i), segment.decay, segment.lr_scale});
  }
  return found;
}

StateLayout shareLayout(const dtcc_segment &segment, const Rank &rank, int64_t communicator) {
  StateLayout layout = layoutOf(rank.image, rank.image.states()[segment.state]);
  layout.shared = true;
  layout.flat = communicator < 0 ? dtcc_axes{} : rank.image.communicators()[static_cast<size_t>(communicator)].axes;
  layout.bucketLength = rank.image.buckets()[segment.bucket].length;
  layout.bucketOffset = segment.offset;
  return layout;
}

std::vector<UpdateRange> updateRanges(const BucketSegments &segments) {
  // Fewer, longer loops.
  std::vector<UpdateRange> merged;
  for (const TensorRange &range : segments.ranges)
    if (!merged.empty() && merged.back().end == range.begin && merged.back().decay == range.decay &&
        merged.back().lrScale == range.lrScale)
      merged.back().end = range.end;
    else
      merged.push_back({range.begin, range.end, range.decay, range.lrScale});
  return merged;
}

GradientOp::GradientOp(const CheckedOperands &operands, const Rank &rank, size_t required, size_t attributes,
                       bool takesHalves) {
  operands.expect(required, attributes);
  const dtcc_view &grad = takesHalves ? operands.denseFloats(0, "grad", -1) : operands.dense(0, "grad", -1);
  size = grad.sizes[0], gradientType = static_cast<dtcc_dtype>(grad.dtype);
  operands.scalar(1, "scale");
  operands.scalar(2, "lr");
  operands.scalar(3, "step", DTCC_I64);
  communicator = operands.communicator(1);
  segments = bucketSegments(operands, rank, operands.integer(0), communicator, size);
}

void GradientOp::addSquares(Rank &rank, GradientCells grad) const {
  std::vector<double> partial(sumSquaresBlocks);
  for (const TensorRange &range : segments.ranges) {
    const dtcc_segment &segment = *segments.all[static_cast<size_t>(range.tensor)];
    // Padding holds zeros.
    if (ownsCells(rank.image.mesh(), shareLayout(segment, rank, communicator), rank.coordinates.data()))
      rank.gradSquares->ofState[segment.state] +=
          sumSquares(rank.team, vectorKernels(), grad.from(range.begin), range.end - range.begin, partial);
  }
}

} // namespace dtcc::rt
