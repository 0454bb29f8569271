//===- Integers.h - A vector of i64 or i32 -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_INTEGERS_H
#define DTCC_RUNTIME_KERNELS_INTEGERS_H

#include <cstdint>

namespace dtcc::rt {

/// Ids or labels of either width; the stride in elements.
struct Integers {
  const void *data = nullptr;
  int64_t size = 0, stride = 1;
  bool wide = true; // i64, else i32

  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t *>(data)[i * stride] : static_cast<const int32_t *>(data)[i * stride];
  }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_INTEGERS_H
