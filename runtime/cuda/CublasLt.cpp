//===- CublasLt.cpp - NVIDIA's matrix products ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasLt.h"

#include "runtime/cuda/Driver.h"

namespace dtcc::rt::cuda {

const CublasLt &cublasLt() {
  static const CublasLt opened = [] {
    CublasLt library;
    library.problem = openLibrary({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, {
#define DTCC_BLAS_FUNCTION(FIELD, SYMBOL, PARAMETERS) {#SYMBOL, reinterpret_cast<void **>(&library.FIELD)},
#include "runtime/cuda/CublasLt.def"
                                                                                                });
    return library;
  }();
  return opened;
}

std::string CublasLt::version() const {
  std::string text;
  for (int part = kMajorVersion; part < kMajorVersion + 3; ++part) {
    int value = 0;
    property(part, &value);
    text += (text.empty() ? "" : ".") + std::to_string(value);
  }
  return text;
}

} // namespace dtcc::rt::cuda
