//===- LogitChunks.cpp - How much of the logits exists at a time
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cost/LogitChunks.h"
#include <algorithm>

namespace dtcc::cost {

/// Largest number of chunks. Each chunk repeats the ops, so a huge batch gets larger chunks instead of more of them.
static constexpr int64_t kMostChunks = 256;

std::optional<LogitCut> cutLogits(std::span<const int64_t> shape, int64_t chunkBytes) {
  int64_t bytes = 4;
  for (int64_t size : shape)
    bytes *= size;
  if (bytes <= chunkBytes)
    return std::nullopt;
  std::optional<LogitCut> most;
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim)
    for (int64_t parts = 2; parts <= std::min(shape[dim], kMostChunks); ++parts) {
      if (shape[dim] % parts != 0)
        continue;
      if (bytes / parts <= chunkBytes || parts == shape[dim])
        return LogitCut{int64_t(dim), parts};
      if (!most || most->parts < parts)
        most = LogitCut{int64_t(dim), parts};
    }
  return most;
}

} // namespace dtcc::cost
