//===- AttentionProblem.h - What an attention kernel computes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plain description, without functions: it is read by code of every
// instruction set (see vector/Simd.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_ATTENTIONPROBLEM_H
#define DTCC_RUNTIME_KERNELS_VECTOR_ATTENTIONPROBLEM_H

#include <stddef.h>
#include <stdint.h>

namespace dtcc::rt {

/// Result of a query without any allowed key.
enum class EmptyRow { Uniform = 0, Zero = 1, NaN = 2 };

/// A strided tensor of f32; strides in elements.
struct AttentionTensor {
  float *data = nullptr; // of halves: see HalfAttention.h
  int64_t strides[5] = {0, 0, 0, 0, 0};
  bool isHalf = false; // cells of 2 bytes, which strides count
};

/// Attention of `batch` x `kvHeads` x `groups` heads. Row r is query i = r + firstQuery of
/// the sequence that keys are counted in; it may see key j if
///   j <= i + causalOffset        (where causal)
///   i - j < windowLeft           (where windowLeft >= 0)
///   j - i <= windowRight         (where windowRight >= 0)
///   keyMask[b, j] != 0           (where keyMask)
///   rows[b, r] == keys[b, j]     (where segments has them)
/// Scores are scale * q.k, then softcap * tanh(score / softcap) where softcap > 0.
/// A query that sees no key gives `emptyRow`: the mean of all values, zero or
/// NaN; its lse is +infinity. No gradient flows to q and k through such a row; the
/// mean's goes to v.
///
/// The keys may be a part of more: `continues` merges out and lse, which then hold the
/// attention to `keysBefore` other keys, with the attention to these (online softmax), and
/// adds to dq, dk and dv. The backward direction wants out and lse of all keys, `keysElsewhere` besides
/// these. A block of queries that sees none of these keys costs nothing.
struct AttentionProblem {
  /// Numbers of packed documents, say.
  struct Segments {
    const int64_t *rows = nullptr, *keys = nullptr; // [b, t] and [b, s]
    int64_t rowStrides[2] = {0, 0}, keyStrides[2] = {0, 0};
  };

  int64_t batch = 0, queries = 0, keys = 0, kvHeads = 0, groups = 0;
  int64_t qkSize = 0, vSize = 0;
  AttentionTensor q, out, dout, dq; // [b, t, h, g, d] and [b, t, h, g, e]
  AttentionTensor k, v, dk, dv;     // [b, s, h, d] and [b, s, h, e]
  AttentionTensor lse;              // [b, h, g, t]
  const uint8_t *keyMask = nullptr; // [b, s]
  int64_t keyMaskStrides[2] = {0, 0};
  Segments segments;
  float scale = 1, softcap = 0;
  bool causal = false;
  int64_t firstQuery = 0, causalOffset = 0, windowLeft = -1, windowRight = -1;
  EmptyRow emptyRow = EmptyRow::Uniform;
  bool continues = false;
  int64_t keysBefore = 0, keysElsewhere = 0;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_VECTOR_ATTENTIONPROBLEM_H
