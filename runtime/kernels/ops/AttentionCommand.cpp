//===- AttentionCommand.cpp - An attention command, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/AttentionCommand.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace dtcc::rt {
namespace {

enum Attribute {
  Scale,
  Softcap,
  Causal,
  CausalOffset,
  WindowLeft,
  WindowRight,
  Masks,
  EmptyRows,
  Queries,
  AttributeCount,
  // Attributes of an attention part.
  Keys = AttributeCount,
  Shift,
  Chunks,
  Length,
  QueryLength,
  Continues,
  PartAttributeCount
};

// Bits of the attribute Masks.
enum Mask { KeyMask = 1, SegmentMask = 2 };

void bindStrides(AttentionTensor &tensor, const dtcc_view &view) {
  for (int i = 0; i < view.rank; ++i)
    tensor.strides[i] = strideOf(view, i);
  tensor.isHalf = view.dtype != DTCC_F32;
}

int64_t rowsOf(const std::vector<AttentionRun> &runs) {
  int64_t rows = 0;
  for (const AttentionRun &run : runs)
    rows += run.count;
  return rows;
}

} // namespace

AttentionCommand::AttentionCommand(const CheckedOperands &operands, const Rank &rank, bool backward, bool isPart)
    : backward(backward), isPart(isPart) {
  size_t attributes = isPart ? PartAttributeCount : AttributeCount;
  int64_t masks = operands.attributeCount() == attributes ? operands.integer(Masks) : 0;
  if (masks < 0 || masks > (KeyMask | SegmentMask))
    operands.reject("masks must be from 0 to 3, got: ", masks);
  hasKey = masks & KeyMask, hasSegments = masks & SegmentMask;
  size_t required = (backward ? 9 : 5) + (hasKey ? 1 : 0) + (hasSegments ? 2 : 0);
  operands.expect(required, attributes);
  const dtcc_view &q = operands.floats(0, "q", {-1, -1, -1, -1, -1});
  elementType = static_cast<dtcc_dtype>(q.dtype);
  dtcc_dtype sums = isPart ? DTCC_F32 : elementType;
  int64_t b = q.sizes[0], t = q.sizes[1], h = q.sizes[2], g = q.sizes[3], d = q.sizes[4];
  const dtcc_view &k = operands.tensor(1, "k", {b, -1, h, d}, elementType);
  int64_t s = k.sizes[1];
  const dtcc_view &v = operands.tensor(2, "v", {b, s, h, -1}, elementType);
  int64_t e = v.sizes[3];
  for (int64_t extent : {b, t, h, g, d, s, e})
    if (extent < 1 || extent > std::numeric_limits<int32_t>::max() / 2)
      operands.reject("sizes must be at least 1 and below 2^30, got: ", extent);
  p.batch = b, p.queries = t, p.keys = s, p.kvHeads = h, p.groups = g, p.qkSize = d, p.vSize = e;
  bindStrides(p.q, q);
  bindStrides(p.k, k);
  bindStrides(p.v, v);
  next = 3;
  if (hasKey) {
    const dtcc_view &key = operands.tensor(next++, "key", {b, s}, DTCC_BOOL);
    p.keyMaskStrides[0] = strideOf(key, 0), p.keyMaskStrides[1] = strideOf(key, 1);
  }
  if (hasSegments)
    for (auto [name, count, strides] : {std::tuple{"segments of queries", t, p.segments.rowStrides},
                                        {"segments of keys", s, p.segments.keyStrides}}) {
      const dtcc_view &view = operands.tensor(next++, name, {b, count}, DTCC_I64);
      strides[0] = strideOf(view, 0), strides[1] = strideOf(view, 1);
    }
  bindStrides(p.out, operands.tensor(next, "out", {b, t, h, g, e}, backward ? elementType : sums));
  bindStrides(p.lse, operands.tensor(next + 1, "lse", {b, h, g, t}));
  if (backward) {
    bindStrides(p.dout, operands.tensor(next + 2, "dout", {b, t, h, g, e}, elementType));
    bindStrides(p.dq, operands.tensor(next + 3, "dq", {b, t, h, g, d}, sums));
    bindStrides(p.dk, operands.tensor(next + 4, "dk", {b, s, h, d}, sums));
    bindStrides(p.dv, operands.tensor(next + 5, "dv", {b, s, h, e}, sums));
  }
  bindMask(operands);
  if (isPart)
    bindPart(operands, rank);
}

AttentionProblem AttentionCommand::problemOf(const Rank &rank) const {
  AttentionProblem here = p;
  here.firstQuery = rank.groupIndex(queries) * p.queries;
  return here;
}

void AttentionCommand::run(const Rank &rank, void *const *buffers, Solver &solver) const {
  AttentionProblem here = problemOf(rank);
  auto floats = [&](size_t i) { return static_cast<float *>(buffers[i]); };
  here.q.data = floats(0), here.k.data = floats(1), here.v.data = floats(2);
  if (hasKey)
    here.keyMask = static_cast<const uint8_t *>(buffers[3]);
  if (hasSegments) {
    here.segments.rows = static_cast<const int64_t *>(buffers[next - 2]);
    here.segments.keys = static_cast<const int64_t *>(buffers[next - 1]);
  }
  here.out.data = floats(next), here.lse.data = floats(next + 1);
  if (backward) {
    here.dout.data = floats(next + 2), here.dq.data = floats(next + 3);
    here.dk.data = floats(next + 4), here.dv.data = floats(next + 5);
  }
  if (isPart)
    runPart(rank, here, solver);
  else
    solver.solve(here);
}

void AttentionCommand::bindMask(const CheckedOperands &operands) {
  p.scale = static_cast<float>(operands.real(Scale));
  p.softcap = static_cast<float>(operands.real(Softcap));
  p.causal = operands.flag(Causal);
  p.causalOffset = operands.integer(CausalOffset);
  p.windowLeft = operands.integer(WindowLeft);
  p.windowRight = operands.integer(WindowRight);
  int64_t empty = operands.integer(EmptyRows);
  if (empty < 0 || empty > 2)
    operands.reject("empty_row must be 0, 1 or 2, got: ", empty);
  p.emptyRow = static_cast<EmptyRow>(empty);
  queries = operands.communicator(Queries);
}

void AttentionCommand::bindPart(const CheckedOperands &operands, const Rank &rank) {
  auto members = [&](int64_t communicator) {
    return communicator < 0 ? 1
                            : rank.image.mesh().sizeOf(rank.image.communicators()[static_cast<size_t>(communicator)]);
  };
  keys = operands.communicator(Keys);
  keyShards = members(keys), queryShards = members(queries);
  shift = operands.integer(Shift), chunks = operands.integer(Chunks), length = operands.integer(Length);
  queryLength = operands.integer(QueryLength);
  p.continues = operands.flag(Continues);
  if (shift < 0 || shift >= keyShards)
    operands.reject("shift must be from 0 to ", keyShards - 1, ", got: ", shift);
  if (length < 1 || queryLength < 1)
    operands.reject("lengths must be at least 1, got: ", std::min(length, queryLength));
  if (chunks < 0 || chunks % 2 || (chunks > 0 && (p.keys * keyShards % chunks || p.queries * queryShards % chunks)))
    operands.reject("chunks must be even and divide the rows, got: ", chunks);
}

std::vector<AttentionRun> AttentionCommand::keyRuns(int64_t index, int64_t back) const {
  int64_t shard = (index - back + keyShards) % keyShards;
  return attentionRuns(shard * p.keys, p.keys, keyShards * p.keys, chunks, length);
}

void AttentionCommand::runPart(const Rank &rank, const AttentionProblem &problem, Solver &solver) const {
  int64_t index = rank.groupIndex(keys);
  std::vector<AttentionRun> here = keyRuns(index, shift);
  std::vector<AttentionRun> rows =
      attentionRuns(rank.groupIndex(queries) * p.queries, p.queries, queryShards * p.queries, chunks, queryLength);
  AttentionProblem whole = problem;
  for (int64_t back = 0; back < shift; ++back)
    whole.keysBefore += rowsOf(keyRuns(index, back));
  whole.keysElsewhere = length - p.keys;
  bool all = rowsOf(rows) == p.queries && rowsOf(here) == p.keys;
  // Pairs of runs add up what they have in common; padding stays zero.
  if (!p.continues && backward && (here.size() != 1 || rows.size() != 1 || !all)) {
    solver.fill(problem.dq, {p.batch, p.queries, p.kvHeads, p.groups, p.qkSize}, 0);
    // Keys have no groups: their rows are [b, s, h].
    solver.fill(problem.dk, {p.batch, p.keys, p.kvHeads, p.qkSize, 1}, 0);
    solver.fill(problem.dv, {p.batch, p.keys, p.kvHeads, p.vSize, 1}, 0);
    whole.continues = true;
  }
  if (!p.continues && !backward && !all) {
    // Rows that see no key so far, on a shard whose keys are padding alone.
    bool empty = here.empty() && !rows.empty(), isNaN = empty && p.emptyRow == EmptyRow::NaN;
    solver.fill(problem.out, {p.batch, p.queries, p.kvHeads, p.groups, p.vSize},
                isNaN ? std::numeric_limits<float>::quiet_NaN() : 0);
    solver.fill(problem.lse, {p.batch, p.kvHeads, p.groups, p.queries, 1},
                empty ? std::numeric_limits<float>::infinity() : 0);
  }
  forEachRun(whole, rows, here, [&](const AttentionProblem &one) { solver.solve(one); });
}

} // namespace dtcc::rt
