//===- CublasLt.cpp - NVIDIA's matrix products ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver/CublasLt.h"

#include "runtime/cuda/driver/Driver.h"

namespace dtcc::rt::cuda {

static constexpr const char *kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};

const CublasLt &cublasLt() {
  static const CublasLt opened = [] {
    CublasLt library;
    // That of CUDA 13 does not run on older drivers.
    const std::span all(kNames);
    int version = 0;
    driver().version(&version);
    library.problem = openLibrary(version >= 13000 ? all : all.subspan(1), {
#define DTCC_BLAS_FUNCTION(FIELD, SYMBOL, PARAMETERS) {#SYMBOL, reinterpret_cast<void **>(&library.FIELD)},
#include "runtime/cuda/driver/CublasLt.def"
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
