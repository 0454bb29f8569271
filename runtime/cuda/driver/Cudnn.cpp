//===- Cudnn.cpp - NVIDIA's fused operations ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver/Cudnn.h"

#include "runtime/cuda/driver/Driver.h"

namespace dtcc::rt::cuda {

const Cudnn &cudnn() {
  static const Cudnn opened = [] {
    Cudnn library;
    library.problem = openLibrary({"libcudnn.so.9", "libcudnn.so"}, {
#define DTCC_DNN_FUNCTION(FIELD, SYMBOL, RESULT, PARAMETERS) {#SYMBOL, reinterpret_cast<void **>(&library.FIELD)},
#include "runtime/cuda/driver/Cudnn.def"
                                                                    });
    if (library.problem.empty() && library.number() < kLeastCudnn)
      library.problem = "cuDNN " + library.version() + " is older than 9.10.2";
    return library;
  }();
  return opened;
}

std::string Cudnn::version() const {
  const size_t all = number();
  return std::to_string(all / 10000) + '.' + std::to_string(all / 100 % 100) + '.' + std::to_string(all % 100);
}

} // namespace dtcc::rt::cuda
