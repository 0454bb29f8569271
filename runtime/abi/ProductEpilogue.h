//===- ProductEpilogue.h - What is taken of a product before it is stored
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attribute `activation` of matmul_epilogue (LibraryOps.def). Gelu is
// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as cublasLt has it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_PRODUCTEPILOGUE_H
#define DTCC_RUNTIME_ABI_PRODUCTEPILOGUE_H

#include <cstdint>

namespace dtcc {

enum class ProductActivation : int64_t {
  None = 0,
  Gelu = 1,
  /// Gelu of the product, and the product itself goes to `kept`.
  GeluKept = 2,
  /// The product times the slope of gelu at `at`.
  Slope = 3,
};

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_PRODUCTEPILOGUE_H
