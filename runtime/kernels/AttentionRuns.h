//===- AttentionRuns.h - Attention between parts of a sequence -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If positions are split over ranks, the rows of a tensor hold one or more runs of
// consecutive positions (runtime/abi/SequenceOrder.h). Attention between two runs is a
// problem as the kernels know it; the runs of keys follow each other by online softmax.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_ATTENTIONRUNS_H
#define DTCC_RUNTIME_KERNELS_ATTENTIONRUNS_H

#include "runtime/kernels/vector/AttentionProblem.h"

#include <functional>
#include <vector>

namespace dtcc::rt {

/// Rows [row, row + count) hold positions [position, position + count).
struct AttentionRun {
  int64_t row, count, position;
};

/// The runs of a tensor that has rows [first, first + rows) of the `all` rows of all shards, by position. Rows
/// of positions from `length` on are in none.
std::vector<AttentionRun> attentionRuns(int64_t first, int64_t rows, int64_t all, int64_t chunks, int64_t length);

/// Calls `solve` with the problem of every pair of runs, those of the queries outermost. `whole`
/// has the tensors of all rows; its `continues` and `keysBefore` say what was summed before. Late keys
/// come last: under a causal mask a query then sees keys in its first problem, and pays for none that it does not see.
void forEachRun(const AttentionProblem &whole, const std::vector<AttentionRun> &queries,
                const std::vector<AttentionRun> &keys, const std::function<void(const AttentionProblem &)> &solve);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_ATTENTIONRUNS_H
