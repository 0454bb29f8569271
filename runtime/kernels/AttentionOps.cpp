//===- AttentionOps.cpp - The library ops of attention -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Attention.h"
#include "runtime/kernels/CheckedOperands.h"
#include "runtime/kernels/HalfAttention.h"
#include "runtime/kernels/LibraryOps.h"

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
  AttributeCount
};

void bindStrides(AttentionTensor &tensor, const dtcc_view &view) {
  for (int i = 0; i < view.rank; ++i)
    tensor.strides[i] = strideOf(view, i);
}

/// Both directions: they differ in their operands behind the key mask.
class AttentionOp final : public LibraryOp {
public:
  AttentionOp(const CheckedOperands &operands, Rank &rank, bool backward) : backward(backward) {
    hasKey = operands.attributeCount() == AttributeCount && operands.flag(HasKey);
    size_t required = (backward ? 9 : 5) + (hasKey ? 1 : 0);
    operands.expect(required, AttributeCount);
    const dtcc_view &q = operands.floats(0, "q", {-1, -1, -1, -1, -1});
    type = static_cast<dtcc_dtype>(q.dtype);
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
    bindStrides(p.out, operands.tensor(next, "out", {b, t, h, g, e}, type));
    bindStrides(p.lse, operands.tensor(next + 1, "lse", {b, h, g, t}));
    if (backward) {
      bindStrides(p.dout, operands.tensor(next + 2, "dout", {b, t, h, g, e}, type));
      bindStrides(p.dq, operands.tensor(next + 3, "dq", {b, t, h, g, d}, type));
      bindStrides(p.dk, operands.tensor(next + 4, "dk", {b, s, h, d}, type));
      bindStrides(p.dv, operands.tensor(next + 5, "dv", {b, s, h, e}, type));
    }
    bindMask(operands);
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
    if (!backward && type != DTCC_F32)
      return halfAttention(rank.team, vectorKernels(), type, p, rank.scratch);
    if (!backward)
      return attention(rank.team, vectorKernels(), p, rank.scratch);
    p.dout.data = floats(next + 2), p.dq.data = floats(next + 3);
    p.dk.data = floats(next + 4), p.dv.data = floats(next + 5);
    if (type != DTCC_F32)
      return halfAttentionGrad(rank.team, vectorKernels(), type, p, rank.scratch);
    attentionGrad(rank.team, vectorKernels(), p, rank.scratch);
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

  AttentionProblem p;
  dtcc_dtype type = DTCC_F32; // of all but lse
  bool backward;
  bool hasKey = false;
  int64_t queries = -1; // communicator over which they are split
  size_t next = 3;      // operand behind the key mask
};

} // namespace

template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_ATTENTION>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<AttentionOp>(CheckedOperands(command, rank), rank, /*backward=*/false);
}

template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_ATTENTION_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<AttentionOp>(CheckedOperands(command, rank), rank, /*backward=*/true);
}

} // namespace dtcc::rt
