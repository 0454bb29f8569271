//===- Transposing.h - Copies that exchange the innermost dimension
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_TRANSPOSING_H
#define DTCC_RUNTIME_CUDA_OPS_TRANSPOSING_H

#include "runtime/cuda/kernels/Transpose.h"
#include "runtime/cuda/ops/Launch.h"

#include <optional>
#include <vector>

namespace dtcc::rt::cuda {

/// A dimension of a copied box; strides in bytes.
struct CopyDim {
  int64_t size, from, to;
};

/// A copy whose innermost dimension in one of the boxes is another dimension of the other box.
class Transposing {
public:
  /// `dims`: joined, outermost first, the last one the bytes of a cell. None if a copy unit by unit does as well: where
  /// both boxes have the same dimension innermost, or one of the two is short.
  static std::optional<Transposing> make(const std::vector<CopyDim> &dims, Launcher &launcher);
  /// Whether cells of boxes there are aligned to their size: several small ones may count as one.
  bool fits(const void *from, const void *to) const;
  void run(const Call &call, const void *from, void *to) const;

private:
  Transposition p = {};
  bool pairs = false; // sizes and strides are even
  uint64_t cellBytes = 0;
  int64_t blocks = 0;
  Kernel cells, twoCells;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_TRANSPOSING_H
