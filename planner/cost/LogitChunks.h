//===- LogitChunks.h - How much of the logits exists at a time
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifiers over large vocabularies make their logits in chunks of rows. Where they are cut is decided here for those
// who cut (passes/exec) and for those who forecast memory. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_LOGITCHUNKS_H
#define DTCC_PLANNER_COST_LOGITCHUNKS_H

#include <cstdint>
#include <optional>
#include <span>

namespace dtcc::cost {

/// A dimension of the rows, and into how many equal parts it is cut.
struct LogitCut {
  int64_t dim = 0, parts = 1;
};

/// Cuts f32 logits of the given local shape, whose last dimension is the vocabulary, into chunks of at most
/// `chunkBytes` if rows can be cut so finely. Nothing if the logits are no larger, or if there are no rows to cut.
std::optional<LogitCut> cutLogits(std::span<const int64_t> shape, int64_t chunkBytes);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_LOGITCHUNKS_H
