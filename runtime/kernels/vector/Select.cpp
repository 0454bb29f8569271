//===- Select.cpp - Picks the kernels of this processor -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt {

#if defined(__x86_64__)
namespace avx512 {
extern const VectorKernels table;
}
namespace avx2 {
extern const VectorKernels table;
}
#endif
namespace generic {
extern const VectorKernels table;
}

namespace {

/// Found once, before the first use, and constant from then on.
struct Supported {
  const VectorKernels *tables[3];
  size_t count = 0;
  Supported() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool haswell = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (haswell && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      tables[count++] = &avx512::table;
    if (haswell)
      tables[count++] = &avx2::table;
#endif
    tables[count++] = &generic::table;
  }
};

const Supported &supported() {
  static const Supported found;
  return found;
}

} // namespace

const VectorKernels *const *supportedVectorKernels(size_t &count) {
  count = supported().count;
  return supported().tables;
}

const VectorKernels &vectorKernels() { return *supported().tables[0]; }

} // namespace dtcc::rt
