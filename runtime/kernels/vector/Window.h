//===- Window.h - Windows that slide over an image
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Up to three spatial dimensions; fewer stand last, after dimensions of size 1. Result
// cell i reads, at window cell j, image cell i * stride + j * dilation - low.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_WINDOW_H
#define DTCC_RUNTIME_KERNELS_VECTOR_WINDOW_H

#include <stdint.h>

namespace dtcc::rt {

struct Window {
  int64_t image[3] = {1, 1, 1}, window[3] = {1, 1, 1}, result[3] = {1, 1, 1};
  int64_t strides[3] = {1, 1, 1}, dilations[3] = {1, 1, 1}, low[3] = {0, 0, 0};

  constexpr int64_t imageCells() const { return image[0] * image[1] * image[2]; }
  constexpr int64_t windowCells() const { return window[0] * window[1] * window[2]; }
  constexpr int64_t resultCells() const { return result[0] * result[1] * result[2]; }
  /// The image cell along dimension `d`; outside of [0, image[d]) there is none.
  constexpr int64_t at(int d, int64_t i, int64_t j) const { return i * strides[d] + j * dilations[d] - low[d]; }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_VECTOR_WINDOW_H
