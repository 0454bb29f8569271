//===- AttentionOps.cpp - The library ops of attention -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Attention.h"
#include "runtime/kernels/AttentionRuns.h"
#include "runtime/kernels/CheckedOperands.h"
#include "runtime/kernels/HalfAttention.h"
#include "runtime/kernels/LibraryOps.h"

#include <algorithm>
#include <limits>

namespace dtcc::rt {
namespace {

enum Attribute {
  Scale,
  Softcap,
  Causal,
  CausalOffset,
  WindowLeft,
  WindowRight,
  HasKey,
  EmptyRows,
  Queries,
  AttributeCount,
  // Of a part.
  Keys = AttributeCount,
  Shift,
  Chunks,
  Length,
  QueryLength,
  Continues,
  PartAttributeCount
};

void bindStrides(AttentionTensor &tensor, const dtcc_view &view) {
  for (int i = 0; i < view.rank; ++i)
    tensor.strides[i] = strideOf(view, i);
  tensor.isHalf = view.dtype != DTCC_F32;
}

void fill(const AttentionTensor &tensor, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, float value) {
  const int64_t *strides = tensor.strides;
  for (int64_t i = 0; i < a * b * c * d; ++i) {
    float *row = tensor.data + i / (b * c * d) * strides[0] + i / (c * d) % b * strides[1] + i / d % c * strides[2] +
                 i % d * strides[3];
    for (int64_t j = 0; j < e; ++j)
      row[j * strides[4]] = value;
  }
}

/// Both directions: they differ in their operands behind the key mask. A part of the keys has more
/// attributes, and sums of f32 whatever the type of the rest.
class AttentionOp final : public LibraryOp {
public:
  AttentionOp(const CheckedOperands &operands, Rank &rank, bool backward, bool isPart)
      : backward(backward), isPart(isPart) {
    size_t attributes = isPart ? PartAttributeCount : AttributeCount;
    hasKey = operands.attributeCount() == attributes && operands.flag(HasKey);
    size_t required = (backward ? 9 : 5) + (hasKey ? 1 : 0);
    operands.expect(required, attributes);
    const dtcc_view &q = operands.floats(0, "q", {-1, -1, -1, -1, -1});
    type = static_cast<dtcc_dtype>(q.dtype);
    dtcc_dtype sums = isPart ? DTCC_F32 : type;
    int64_t b = q.sizes[0], t = q.sizes[1], h = q.sizes[2], g = q.sizes[3], d = q.sizes[4];
    const dtcc_view &k = operands.tensor(1, "k", {b, -1, h, d}, type);
    int64_t s = k.sizes[1];
    const dtcc_view &v = operands.tensor(2, "v", {b, s, h, -1}, type);
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
    bindStrides(p.out, operands.tensor(next, "out", {b, t, h, g, e}, backward ? type : sums));
    bindStrides(p.lse, operands.tensor(next + 1, "lse", {b, h, g, t}));
    if (backward) {
      bindStrides(p.dout, operands.tensor(next + 2, "dout", {b, t, h, g, e}, type));
      bindStrides(p.dq, operands.tensor(next + 3, "dq", {b, t, h, g, d}, sums));
      bindStrides(p.dk, operands.tensor(next + 4, "dk", {b, s, h, d}, sums));
      bindStrides(p.dv, operands.tensor(next + 5, "dv", {b, s, h, e}, sums));
    }
    bindMask(operands);
    if (isPart)
      bindPart(operands, rank);
    size_t heads = type == DTCC_F32 ? 0 : halfAttentionScratchBytes(p, backward);
    rank.scratch.reserve(attentionScratchBytes(d, e) + heads);
  }

  void run(Rank &rank, void *const *buffers) override {
    p.firstQuery = rank.groupIndex(queries) * p.queries;
    auto floats = [&](size_t i) { return static_cast<float *>(buffers[i]); };
    p.q.data = floats(0), p.k.data = floats(1), p.v.data = floats(2);
    if (hasKey)
      p.keyMask = static_cast<const uint8_t *>(buffers[3]);
    p.out.data = floats(next), p.lse.data = floats(next + 1);
    if (backward) {
      p.dout.data = floats(next + 2), p.dq.data = floats(next + 3);
      p.dk.data = floats(next + 4), p.dv.data = floats(next + 5);
    }
    if (isPart)
      runPart(rank);
    else
      solve(rank, p);
  }

private:
  void bindMask(const CheckedOperands &operands) {
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

  void bindPart(const CheckedOperands &operands, const Rank &rank) {
    auto members = [&](int64_t communicator) {
      return communicator < 0 ? 1 : rank.image.sizeOf(rank.image.communicators()[static_cast<size_t>(communicator)]);
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

  std::vector<AttentionRun> keyRuns(int64_t index, int64_t back) const {
    int64_t shard = (index - back + keyShards) % keyShards;
    return attentionRuns(shard * p.keys, p.keys, keyShards * p.keys, chunks, length);
  }
  static int64_t rowsOf(const std::vector<AttentionRun> &runs) {
    int64_t rows = 0;
    for (const AttentionRun &run : runs)
      rows += run.count;
    return rows;
  }

  void runPart(Rank &rank) {
    int64_t index = rank.groupIndex(keys);
    std::vector<AttentionRun> here = keyRuns(index, shift);
    std::vector<AttentionRun> rows =
        attentionRuns(rank.groupIndex(queries) * p.queries, p.queries, queryShards * p.queries, chunks,
                      std::numeric_limits<int64_t>::max());
    AttentionProblem whole = p;
    for (int64_t back = 0; back < shift; ++back)
      whole.keysBefore += rowsOf(keyRuns(index, back));
    whole.keysElsewhere = length - p.keys;
    bool all = rowsOf(rows) == p.queries && rowsOf(here) == p.keys;
    // Pairs of runs add up what they have in common; padding stays zero.
    if (!p.continues && backward && (here.size() != 1 || rows.size() != 1 || !all)) {
      fill(p.dq, p.batch, p.queries, p.kvHeads, p.groups, p.qkSize, 0);
      // Keys have no groups: their rows are [b, s, h].
      fill(p.dk, p.batch, p.keys, p.kvHeads, p.qkSize, 1, 0);
      fill(p.dv, p.batch, p.keys, p.kvHeads, p.vSize, 1, 0);
      whole.continues = true;
    }
    if (!p.continues && !backward && !all) {
      // Rows that see no key so far, on a shard whose keys are padding alone.
      bool empty = here.empty() && !rows.empty(), isNaN = empty && p.emptyRow == EmptyRow::NaN;
      fill(p.out, p.batch, p.queries, p.kvHeads, p.groups, p.vSize,
           isNaN ? std::numeric_limits<float>::quiet_NaN() : 0);
      fill(p.lse, p.batch, p.kvHeads, p.groups, p.queries, 1, empty ? std::numeric_limits<float>::infinity() : 0);
    }
    forEachRun(whole, rows, here, [&](const AttentionProblem &one) { solve(rank, one); });
  }

  void solve(Rank &rank, const AttentionProblem &problem) {
    const VectorKernels &kernels = vectorKernels();
    if (type == DTCC_F32)
      return backward ? attentionGrad(rank.team, kernels, problem, rank.scratch)
                      : attention(rank.team, kernels, problem, rank.scratch);
    if (backward)
      return halfAttentionGrad(rank.team, kernels, type, isPart, problem, rank.scratch);
    halfAttention(rank.team, kernels, type, isPart, problem, rank.scratch);
  }

  AttentionProblem p;
  dtcc_dtype type = DTCC_F32; // of all but lse, and the sums of a part
  bool backward, isPart;
  bool hasKey = false;
  int64_t queries = -1; // communicator over which they are split
  size_t next = 3;      // operand behind the key mask
  // Of a part.
  int64_t keys = -1, keyShards = 1, queryShards = 1, shift = 0, chunks = 0, length = 0, queryLength = 0;
};

} // namespace

template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_ATTENTION>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<AttentionOp>(CheckedOperands(command, rank), rank, /*backward=*/false, /*isPart=*/false);
}

template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_ATTENTION_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<AttentionOp>(CheckedOperands(command, rank), rank, /*backward=*/true, /*isPart=*/false);
}

template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_ATTENTION_PART>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<AttentionOp>(CheckedOperands(command, rank), rank, /*backward=*/false, /*isPart=*/true);
}

template <>
std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_ATTENTION_PART_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<AttentionOp>(CheckedOperands(command, rank), rank, /*backward=*/true, /*isPart=*/true);
}

} // namespace dtcc::rt
