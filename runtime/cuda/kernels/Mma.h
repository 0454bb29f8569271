//===- Mma.h - Products of halves on tensor cores
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync.m16n8k16 and ldmatrix: of sm_80 and all later GPUs. A warp multiplies 16 rows; a
// lane holds two rows, lane / 4 and that plus 8, and of every 8 columns those at
// lane % 4 * 2 and beside it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_MMA_H
#define DTCC_RUNTIME_CUDA_KERNELS_MMA_H

#include "runtime/cuda/kernels/Device.h"

namespace dtcc::rt::cuda {

DTCC_DEVICE uint32_t sharedAddress(const void *address) {
  return static_cast<uint32_t>(
      reinterpret_cast<uint64_t>((const __attribute__((address_space(3))) void *)address)); // a cast between spaces
}

/// Four squares of 8 x 8 halves; lane l gives the address of row l % 8 of square l / 8.
struct Squares {
  uint32_t at[4];
};
DTCC_DEVICE Squares loadSquares(const void *row) {
  Squares s;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(s.at[0]), "=r"(s.at[1]), "=r"(s.at[2]), "=r"(s.at[3])
               : "r"(sharedAddress(row))
               : "memory");
  return s;
}
DTCC_DEVICE Squares loadSquaresTransposed(const void *row) {
  Squares s;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(s.at[0]), "=r"(s.at[1]), "=r"(s.at[2]), "=r"(s.at[3])
               : "r"(sharedAddress(row))
               : "memory");
  return s;
}

/// sums (16 x 8) += left (16 x 16) times right (16 x 8).
template <typename T> DTCC_DEVICE void multiplyAdd(float (&sums)[4], const Squares &left, uint32_t low, uint32_t high);
template <> DTCC_DEVICE void multiplyAdd<__bf16>(float (&sums)[4], const Squares &left, uint32_t low, uint32_t high) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left.at[0]), "r"(left.at[1]), "r"(left.at[2]), "r"(left.at[3]), "r"(low), "r"(high));
}
template <> DTCC_DEVICE void multiplyAdd<_Float16>(float (&sums)[4], const Squares &left, uint32_t low, uint32_t high) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left.at[0]), "r"(left.at[1]), "r"(left.at[2]), "r"(left.at[3]), "r"(low), "r"(high));
}

/// Calls store(rowOf(i), j, pair) for adjacent columns j and j + 1 of row i of a warp's sums, squares of 16 x 8 as
/// products leave them, which begin at (row, column).
template <int rows, int columns, typename Row, typename Store>
DTCC_DEVICE void storeSums(const float (&sums)[rows][columns][4], int row, int column, Row rowOf, Store store) {
  const int l = lane();
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const auto to = rowOf(row + i * 16 + r * 8 + l / 4);
#pragma unroll
      for (int n = 0; n < columns; ++n) {
        const float pair[2] = {sums[i][n][r * 2], sums[i][n][r * 2 + 1]};
        store(to, column + n * 8 + l % 4 * 2, pair);
      }
    }
}

template <typename T> DTCC_DEVICE uint32_t pack(float low, float high) {
  return __builtin_bit_cast(uint16_t, static_cast<T>(low)) |
         static_cast<uint32_t>(__builtin_bit_cast(uint16_t, static_cast<T>(high))) << 16;
}

/// scores (16 x others) += 16 rows of `mine` times rows of `others`; both `size` long, `stride` apart.
template <typename T, int size, int others, int stride>
DTCC_DEVICE void multiplyRows(const T *mine, const T *rows, float (&scores)[others / 8][4]) {
  const int l = lane();
  const T *left = mine + l % 16 * stride + l / 16 * 8, *right = rows + (l % 8 + l / 16 * 8) * stride + l / 8 % 2 * 8;
#pragma unroll
  for (int k = 0; k < size; k += 16) {
    const Squares a = loadSquares(left + k);
#pragma unroll
    for (int n = 0; n < others; n += 16) {
      const Squares b = loadSquares(right + n * stride + k);
      multiplyAdd<T>(scores[n / 8], a, b.at[0], b.at[1]);
      multiplyAdd<T>(scores[n / 8 + 1], a, b.at[2], b.at[3]);
    }
  }
}

/// sums (16 x size) += weights (16 x others, as sums of a product lie) times rows.
template <typename T, int size, int others, int stride>
DTCC_DEVICE void addRows(const float (&weights)[others / 8][4], const T *rows, float (&sums)[size / 8][4]) {
  const int l = lane();
  const T *right = rows + l % 16 * stride + l / 16 * 8;
#pragma unroll
  for (int k = 0; k < others; k += 16) {
    const float (&low)[4] = weights[k / 8], (&high)[4] = weights[k / 8 + 1];
    const Squares a = {
        {pack<T>(low[0], low[1]), pack<T>(low[2], low[3]), pack<T>(high[0], high[1]), pack<T>(high[2], high[3])}};
#pragma unroll
    for (int n = 0; n < size; n += 16) {
      const Squares b = loadSquaresTransposed(right + k * stride + n);
      multiplyAdd<T>(sums[n / 8], a, b.at[0], b.at[1]);
      multiplyAdd<T>(sums[n / 8 + 1], a, b.at[2], b.at[3]);
    }
  }
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_MMA_H
