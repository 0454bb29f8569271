//===- Product.h - A product as cublasLt describes it ---------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_CUBLASLT_PRODUCT_H
#define DTCC_TESTS_EMULATOR_CUBLASLT_PRODUCT_H

#include "tests/emulator/cuda/Element.h"
#include <cstdint>

namespace dtcc::emulator {

/// cublasLtMatrixLayout
struct Layout {
  int type = 0;  ///< cudaDataType
  int order = 0; ///< 0: columns are adjacent, 1: rows
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batches = 1;
  int64_t batchStride = 0;

  Element element() const;
  bool isKnown() const;
  int64_t at(int64_t row, int64_t column) const { return order == 1 ? row * leading + column : row + column * leading; }
  /// Cells from the first to behind the last.
  int64_t span() const;
};

// cublasLtEpilogue_t, by its parts.
constexpr uint32_t kPlain = 1, kRelu = 2, kBias = 4, kReluGradient = 8, kBiasGradient = 16, kGelu = 32,
                   kGeluGradient = 64, kAux = 128, kBiasGradientA = 256, kBiasGradientB = 512;

/// cublasLtMatmulDesc
struct Description {
  int computeType = 0, scaleType = 0;
  int pointerMode = 0; ///< 0: alpha and beta on the host
  int transposeA = 0, transposeB = 0;
  uint32_t epilogue = 1;
  void *bias = nullptr;
  int64_t biasStride = 0;
  void *aux = nullptr;
  int64_t auxLeading = 0, auxStride = 0;
  int biasType = -1, auxType = -1;

  bool has(uint32_t part) const { return (epilogue & part) == part; }
  /// A vector of biases, or of their gradients.
  bool usesBias() const { return epilogue & (kBias | kBiasGradient | kBiasGradientA | kBiasGradientB); }
};
/// D = epilogue(alpha op(A) op(B) + beta C). Addresses are those of this process.
struct Product {
  Description how;
  Layout a, b, c, d;
  const char *aData = nullptr, *bData = nullptr, *cData = nullptr;
  char *dData = nullptr, *biasData = nullptr, *auxData = nullptr;
  double alpha = 1, beta = 0;
  bool roundsParts = false; ///< sums of parts along k are added up in the type of D

  int64_t rows() const { return int64_t(d.rows); }
  int64_t columns() const { return int64_t(d.columns); }
  int64_t depth() const { return int64_t(how.transposeA ? a.rows : a.columns); }
  Element biasElement() const;
  Element auxElement() const;
  /// Cells of the bias or of its gradient.
  int64_t biasCells() const { return how.has(kBiasGradientB) ? columns() : rows(); }
  /// Reason why the operands do not fit together; null if they do.
  const char *problem() const;
  void run() const;

private:
  const char *epilogueProblem() const;
};

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_CUBLASLT_PRODUCT_H
