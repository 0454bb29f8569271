//===- ProductCommand.h - A command that multiplies matrices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// matmul and matmul_epilogue (LibraryOps.def) as one, checked: who computes it, the library
// or kernels of ours, asks no more for positions of operands.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_PRODUCTCOMMAND_H
#define DTCC_RUNTIME_CUDA_OPS_PRODUCTCOMMAND_H

#include "runtime/abi/ProductEpilogue.h"
#include "runtime/kernels/ops/CheckedOperands.h"

#include <optional>

namespace dtcc::rt::cuda {

struct ProductCommand {
  /// Throws Error if the command is not what LibraryOps.def says.
  static ProductCommand matmul(const CheckedOperands &operands);
  static ProductCommand matmulEpilogue(const CheckedOperands &operands);

  /// The product alone, its result where that of the whole is.
  ProductCommand alone() const;
  bool hasEpilogue() const { return bias || sums || activation != ProductActivation::None; }

  int64_t g = 0, m = 0, n = 0, k = 0;
  uint32_t type = DTCC_F32, outType = DTCC_F32, biasType = DTCC_F32;
  /// Factors of f32 may be rounded to 10 bits of mantissa, as the option --tf32 allows it for all products of a
  /// program.
  bool mayRound = false;
  Accumulation accumulate = Accumulation::Never;
  ProductActivation activation = ProductActivation::None;
  /// Positions of operands; lhs and rhs are 0 and 1.
  size_t out = 2;
  std::optional<size_t> bias, at, kept, sums;
  Accumulation sumsAccumulate = Accumulation::Never;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_PRODUCTCOMMAND_H
