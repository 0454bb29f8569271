//===- AttentionRuns.cpp - Attention between parts of a sequence -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/AttentionRuns.h"

#include "runtime/abi/SequenceOrder.h"

#include <algorithm>

namespace dtcc::rt {

std::vector<AttentionRun> attentionRuns(int64_t first, int64_t rows, int64_t all, int64_t chunks, int64_t length) {
  std::vector<AttentionRun> runs;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t position = positionOfRow(first + row, all, chunks);
    if (position >= length)
      continue;
    if (!runs.empty() && runs.back().row + runs.back().count == row &&
        runs.back().position + runs.back().count == position)
      ++runs.back().count;
    else
      runs.push_back({row, 1, position});
  }
  std::sort(runs.begin(), runs.end(), [](const auto &a, const auto &b) { return a.position < b.position; });
  return runs;
}

static void skipRows(AttentionTensor &tensor, int64_t rows, int dimension) {
  if (!tensor.data)
    return;
  int64_t cells = rows * tensor.strides[dimension];
  tensor.data = tensor.isHalf ? reinterpret_cast<float *>(reinterpret_cast<uint16_t *>(tensor.data) + cells)
                              : tensor.data + cells;
}

void forEachRun(const AttentionProblem &whole, const std::vector<AttentionRun> &queries,
                const std::vector<AttentionRun> &keys, const std::function<void(const AttentionProblem &)> &solve) {
  for (const AttentionRun &rows : queries) {
    AttentionProblem p = whole;
    p.queries = rows.count;
    for (AttentionTensor *tensor : {&p.q, &p.out, &p.dout, &p.dq})
      skipRows(*tensor, rows.row, 1);
    skipRows(p.lse, rows.row, 3);
    if (p.segments.rows)
      p.segments.rows += rows.row * p.segments.rowStrides[1];
    for (const AttentionRun &part : keys) {
      AttentionProblem one = p;
      one.keys = part.count;
      one.keysElsewhere = p.keysElsewhere + p.keys - part.count;
      one.firstQuery = rows.position - part.position;
      for (AttentionTensor *tensor : {&one.k, &one.v, &one.dk, &one.dv})
        skipRows(*tensor, part.row, 1);
      if (one.keyMask)
        one.keyMask += part.row * one.keyMaskStrides[1];
      if (one.segments.keys)
        one.segments.keys += part.row * one.segments.keyStrides[1];
      solve(one);
      p.continues = true;
      p.keysBefore += part.count;
    }
  }
}

} // namespace dtcc::rt
