//===- ProductPadding.h - Which dimensions of products are padded
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_PRODUCTPADDING_H
#define DTCC_PASSES_SPMD_LAYOUT_PRODUCTPADDING_H

#include <cstdint>

namespace dtcc::spmd {

/// Which dimensions of matrix products are padded because a library is slow for their sizes. cublasLt chooses kernels
/// by sizes, not by where rows start: with 50,257 classes an H100 reached 95 to 99 TFLOP/s in products of bf16 whose
/// rows were aligned, a sixth of what it reached in others. The default pads nothing.
struct ProductPadding {
  /// A dimension stays as it is if its part on a rank is a multiple of so many elements.
  int64_t divisor = 1;
  /// The part of a padded dimension is a multiple of so many elements. Narrow dimensions, to which that would add more
  /// than a sixteenth, stay as they are.
  int64_t multiple = 1;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PRODUCTPADDING_H
