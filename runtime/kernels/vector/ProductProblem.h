//===- ProductProblem.h - What a matrix product computes -*- C++ -*-===//
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

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_PRODUCTPROBLEM_H
#define DTCC_RUNTIME_KERNELS_VECTOR_PRODUCTPROBLEM_H

#include "runtime/abi/dtcc_rt.h"

#include <stddef.h>
#include <stdint.h>

namespace dtcc::rt {

/// out[g, m, n] = (accumulate ? out : 0) + lhs[g, m, k] * rhs[g, k, n] + bias[n], f32.
/// Any strides, in elements; `bias` may be null.
struct ProductProblem {
  int64_t g = 1, m = 0, n = 0, k = 0;
  const void *lhs = nullptr, *rhs = nullptr;
  const float *bias = nullptr;
  void *out = nullptr;
  dtcc_dtype type = DTCC_F32, outType = DTCC_F32; // of lhs and rhs; of out: that, or f32
  int64_t lhsStrides[3] = {0, 0, 0}, rhsStrides[3] = {0, 0, 0}, outStrides[3] = {0, 0, 0};
  int64_t biasStride = 1;
  bool accumulate = false;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_VECTOR_PRODUCTPROBLEM_H
