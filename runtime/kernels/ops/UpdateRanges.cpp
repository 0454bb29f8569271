//===- UpdateRanges.cpp - The segments of a share of a bucket
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/UpdateRanges.h"

#include <algorithm>

namespace dtcc::rt {

std::vector<UpdateRange> updateRanges(const CheckedOperands &operands, const Rank &rank, int64_t bucket,
                                      int64_t communicator, int64_t size) {
  if (bucket < 0 || bucket >= static_cast<int64_t>(rank.image.buckets().size()))
    operands.reject("bucket must be below ", rank.image.buckets().size(), ", got: ", bucket);
  const int64_t offset = rank.groupIndex(communicator) * size;
  std::vector<UpdateRange> ranges;
  for (const dtcc_segment &segment : rank.image.segments()) {
    int64_t begin = std::max<int64_t>(segment.offset - offset, 0);
    int64_t end = std::min(segment.offset + segment.length - offset, size);
    if (static_cast<int64_t>(segment.bucket) == bucket && begin < end)
      ranges.push_back({begin, end, segment.decay, segment.lr_scale});
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto &a, const auto &b) { return a.begin < b.begin; });
  // Neighbours with equal hyperparameters are one run: fewer, longer loops.
  std::vector<UpdateRange> merged;
  for (const UpdateRange &range : ranges) {
    if (!merged.empty() && merged.back().end > range.begin)
      operands.reject("segments of bucket ", bucket, " overlap at element ", range.begin + offset);
    if (!merged.empty() && merged.back().end == range.begin && merged.back().decay == range.decay &&
        merged.back().lrScale == range.lrScale)
      merged.back().end = range.end;
    else
      merged.push_back(range);
  }
  return merged;
}

} // namespace dtcc::rt
