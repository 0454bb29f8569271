//===- Attention.h - Parameters of the kernels of attention
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_ATTENTION_ATTENTION_H
#define DTCC_RUNTIME_CUDA_KERNELS_ATTENTION_ATTENTION_H

#include <cstdint>

namespace dtcc::rt::cuda {

/// Rows of queries and of keys that a block holds.
constexpr int attentionTile = 32;
/// Largest sizes of a head that there are modules for: AttentionForward64 and so on. A row of a tile belongs to
/// size / 16 threads.
constexpr int attentionSizes[] = {64, 128, 256};
constexpr int attentionThreads(int size) { return attentionTile * (size / 16); }
constexpr int attentionRowThreads = 256;

/// A strided tensor of f32, bf16 or f16; strides in elements.
struct HeadTensor {
  void *data;
  int64_t strides[5];
  int32_t type; // dtcc_dtype
};

/// AttentionMma64bf16 and so on: heads whose sizes and strides are multiples of 8, so that rows
/// are read 16 bytes at a time. Rows of a block, of other rows that it meets at a time, and threads.
constexpr int mmaSizes[] = {64, 128};
constexpr int mmaRows = 64, mmaThreads = 128;
constexpr int mmaOthers(int size) { return size <= 64 ? 64 : 32; }
/// Halves from one row of shared memory to the next: rows start in different banks.
constexpr int mmaStride(int size) { return size + 8; }
constexpr int64_t mmaForwardBytes(int size) { return 2 * mmaStride(size) * (mmaRows + 2 * 64); }
constexpr int64_t mmaBackwardBytes(int size) {
  return 2 * mmaStride(size) * (2 * mmaRows + 2 * mmaOthers(size)) + 4 * 2 * mmaOthers(size);
}

/// The AttentionProblem of runtime/kernels for a GPU, in the same terms.
struct Attention {
  int64_t batch, queries, keys, kvHeads, groups, qkSize, vSize;
  HeadTensor q, out, dout, dq; // [b, t, h, g, d] and [b, t, h, g, e]
  HeadTensor k, v, dk, dv;     // [b, s, h, d] and [b, s, h, e]
  HeadTensor lse;              // [b, h, g, t]
  const uint8_t *keyMask;
  int64_t keyMaskStrides[2];
  const int64_t *rowSegments, *keySegments; // or null; strides of both
  int64_t rowSegmentStrides[2], keySegmentStrides[2];
  float scale, softcap;
  int32_t causal;
  int64_t firstQuery, causalOffset, windowLeft, windowRight;
  int32_t emptyRow; // 0 uniform, 1 zero, 2 NaN
  int32_t continues;
  int64_t keysBefore, keysElsewhere;
  float *dots; // dense [b, h, g, t]: rowsum(dout * out), which attention_dots writes
};

/// Dynamic shared memory of the kernels, in bytes.
constexpr int64_t attentionRowFloats(int64_t size) { return size | 1; } // rows start in different banks
constexpr int64_t attentionForwardBytes(int64_t qk, int64_t v) {
  int64_t wide = attentionRowFloats(qk > v ? qk : v);
  return 4 * attentionTile * (attentionRowFloats(qk) + wide + attentionTile + 1);
}
constexpr int64_t attentionBackwardBytes(int64_t qk, int64_t v) {
  return 4 * attentionTile * (2 * attentionRowFloats(qk) + 2 * attentionRowFloats(v) + 2 * (attentionTile + 1));
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_ATTENTION_ATTENTION_H
