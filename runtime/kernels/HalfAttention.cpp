//===- HalfAttention.cpp - Attention over bf16 and f16 -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Backward, a work item is a key-value head with all its query groups: keys, queries and
// their gradients of it are in f32 until they are whole.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/HalfAttention.h"
#include "runtime/kernels/Attention.h"

#include <algorithm>

namespace dtcc::rt {
namespace {

/// One head of a tensor in f32: rows [group][position] of `columns`, densely. Both kinds
/// of tensor of a problem: queries have groups, keys have not.
struct Head {
  float *data;
  int64_t rows, columns;
};

/// Converts heads between a problem's tensors and scratch memory.
class Heads {
public:
  Heads(const VectorKernels &kernels, dtcc_dtype half, float *memory) : kernels(kernels), half(half), memory(memory) {}

  Head take(int64_t groups, int64_t rows, int64_t columns) {
    Head head{memory, rows, columns};
    memory += groups * rows * columns;
    return head;
  }
  /// Rows [begin, end) of group `g` of the head; the tensor's strides along rows and columns.
  void read(const AttentionTensor &from, int64_t offset, int64_t rowStride, int64_t columnStride, const Head &to,
            int64_t g, int64_t begin, int64_t end) {
    const uint16_t *source = reinterpret_cast<const uint16_t *>(from.data) + offset;
    for (int64_t r = begin; r < end; ++r) {
      float *row = to.data + (g * to.rows + r) * to.columns;
      if (columnStride == 1)
        kernels.widen(half, source + r * rowStride, to.columns, row);
      else
        for (int64_t c = 0; c < to.columns; ++c)
          kernels.widen(half, source + r * rowStride + c * columnStride, 1, row + c);
    }
  }
  void write(const Head &from, int64_t g, int64_t begin, int64_t end, const AttentionTensor &to, int64_t offset,
             int64_t rowStride, int64_t columnStride) {
    uint16_t *target = reinterpret_cast<uint16_t *>(to.data) + offset;
    for (int64_t r = begin; r < end; ++r) {
      const float *row = from.data + (g * from.rows + r) * from.columns;
      if (columnStride == 1)
        kernels.narrow(half, row, from.columns, target + r * rowStride);
      else
        for (int64_t c = 0; c < from.columns; ++c)
          kernels.narrow(half, row + c, 1, target + r * rowStride + c * columnStride);
    }
  }
  void readKeys(const AttentionTensor &x, int64_t b, int64_t h, const Head &to) {
    read(x, b * x.strides[0] + h * x.strides[2], x.strides[1], x.strides[3], to, 0, 0, to.rows);
  }
  void writeKeys(const Head &from, const AttentionTensor &x, int64_t b, int64_t h) {
    write(from, 0, 0, from.rows, x, b * x.strides[0] + h * x.strides[2], x.strides[1], x.strides[3]);
  }
  static int64_t queryOffset(const AttentionTensor &x, int64_t b, int64_t h, int64_t g) {
    return b * x.strides[0] + h * x.strides[2] + g * x.strides[3];
  }

private:
  const VectorKernels &kernels;
  dtcc_dtype half;
  float *memory;
};

AttentionTensor queriesOf(const Head &head) { return {head.data, {0, head.columns, 0, head.rows * head.columns, 1}}; }
AttentionTensor keysOf(const Head &head) { return {head.data, {0, head.columns, 0, 1, 0}}; }
/// The part of an f32 tensor that a problem of one head sees.
AttentionTensor queriesFrom(AttentionTensor x, int64_t b, int64_t h, int64_t g) {
  x.data += Heads::queryOffset(x, b, h, g);
  return x;
}
AttentionTensor keysFrom(AttentionTensor x, int64_t b, int64_t h) {
  x.data += b * x.strides[0] + h * x.strides[2];
  return x;
}

/// The problem of one batch and key-value head, and of the groups from `g` on.
AttentionProblem headProblem(const AttentionProblem &p, int64_t b, int64_t h, int64_t g, int64_t groups) {
  AttentionProblem one = p;
  one.batch = one.kvHeads = 1;
  one.groups = groups;
  one.lse.data = p.lse.data + b * p.lse.strides[0] + h * p.lse.strides[1] + g * p.lse.strides[2];
  if (p.keyMask)
    one.keyMask = p.keyMask + b * p.keyMaskStrides[0];
  if (p.segments.rows) {
    one.segments.rows += b * p.segments.rowStrides[0];
    one.segments.keys += b * p.segments.keyStrides[0];
  }
  return one;
}

float *headMemory(const AttentionProblem &p, const TeamScratch &scratch, int part) {
  return scratch.at<float>(part) + attentionScratchBytes(p.qkSize, p.vSize) / sizeof(float);
}

} // namespace

size_t halfAttentionScratchBytes(const AttentionProblem &p, bool backward) {
  int64_t queries = (backward ? p.groups * 2 : 1) * p.queries, keys = (backward ? 2 : 1) * p.keys;
  return static_cast<size_t>((queries + keys) * (p.qkSize + p.vSize)) * sizeof(float);
}

void halfAttention(ThreadTeam &team, const VectorKernels &kernels, dtcc_dtype half, bool wideSums,
                   const AttentionProblem &p, const TeamScratch &scratch) {
  const int64_t blocks = (p.queries + attentionQueryBlock - 1) / attentionQueryBlock;
  team.parallelParts(p.batch * p.kvHeads * p.groups * blocks, 1, [&](int64_t begin, int64_t end, int part) {
    Heads heads(kernels, half, headMemory(p, scratch, part));
    Head q = heads.take(1, p.queries, p.qkSize), out = heads.take(1, p.queries, p.vSize);
    Head k = heads.take(1, p.keys, p.qkSize), v = heads.take(1, p.keys, p.vSize);
    int64_t held = -1; // the key-value head that k and v hold
    for (int64_t item = begin; item < end; ++item) {
      int64_t block = item % blocks, g = item / blocks % p.groups, head = item / blocks / p.groups;
      int64_t h = head % p.kvHeads, b = head / p.kvHeads;
      int64_t first = block * attentionQueryBlock, last = std::min(first + attentionQueryBlock, p.queries);
      if (head != held) {
        heads.readKeys(p.k, b, h, k);
        heads.readKeys(p.v, b, h, v);
        held = head;
      }
      heads.read(p.q, Heads::queryOffset(p.q, b, h, g), p.q.strides[1], p.q.strides[4], q, 0, first, last);
      AttentionProblem one = headProblem(p, b, h, g, 1);
      one.q = queriesOf(q), one.k = keysOf(k), one.v = keysOf(v);
      one.out = wideSums ? queriesFrom(p.out, b, h, g) : queriesOf(out);
      kernels.attention(one, block, scratch.at<float>(part));
      if (!wideSums)
        heads.write(out, 0, first, last, p.out, Heads::queryOffset(p.out, b, h, g), p.out.strides[1], p.out.strides[4]);
    }
  });
}

void halfAttentionGrad(ThreadTeam &team, const VectorKernels &kernels, dtcc_dtype half, bool wideSums,
                       const AttentionProblem &p, const TeamScratch &scratch) {
  team.parallelParts(p.batch * p.kvHeads, 1, [&](int64_t begin, int64_t end, int part) {
    Heads heads(kernels, half, headMemory(p, scratch, part));
    Head q = heads.take(p.groups, p.queries, p.qkSize), dq = heads.take(p.groups, p.queries, p.qkSize);
    Head out = heads.take(p.groups, p.queries, p.vSize), dout = heads.take(p.groups, p.queries, p.vSize);
    Head k = heads.take(1, p.keys, p.qkSize), dk = heads.take(1, p.keys, p.qkSize);
    Head v = heads.take(1, p.keys, p.vSize), dv = heads.take(1, p.keys, p.vSize);
    for (int64_t item = begin; item < end; ++item) {
      int64_t h = item % p.kvHeads, b = item / p.kvHeads;
      heads.readKeys(p.k, b, h, k);
      heads.readKeys(p.v, b, h, v);
      for (int64_t g = 0; g < p.groups; ++g)
        for (auto [from, to] : {std::pair{&p.q, &q}, {&p.out, &out}, {&p.dout, &dout}})
          heads.read(*from, Heads::queryOffset(*from, b, h, g), from->strides[1], from->strides[4], *to, g, 0,
                     p.queries);
      AttentionProblem one = headProblem(p, b, h, 0, p.groups);
      one.q = queriesOf(q), one.dq = queriesOf(dq), one.out = queriesOf(out), one.dout = queriesOf(dout);
      one.k = keysOf(k), one.dk = keysOf(dk), one.v = keysOf(v), one.dv = keysOf(dv);
      if (wideSums)
        one.dq = queriesFrom(p.dq, b, h, 0), one.dk = keysFrom(p.dk, b, h), one.dv = keysFrom(p.dv, b, h);
      kernels.attentionGrad(one, 0, 0, 0, p.queries, 0, p.keys, true, true, scratch.at<float>(part));
      if (wideSums)
        continue;
      heads.writeKeys(dk, p.dk, b, h);
      heads.writeKeys(dv, p.dv, b, h);
      for (int64_t g = 0; g < p.groups; ++g)
        heads.write(dq, g, 0, p.queries, p.dq, Heads::queryOffset(p.dq, b, h, g), p.dq.strides[1], p.dq.strides[4]);
    }
  });
}

} // namespace dtcc::rt
