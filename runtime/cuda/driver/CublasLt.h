//===- CublasLt.h - NVIDIA's matrix products ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cublasLt is opened when a program starts. Without it products run in the runtime's own
// kernel, which is slower.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_CUBLASLT_H
#define DTCC_RUNTIME_CUDA_DRIVER_CUBLASLT_H

#include "runtime/cuda/driver/CudaOp.h"

#include <string>

namespace dtcc::rt::cuda {

#define DTCC_BLAS_NUMBER(NAME, THEIRS, VALUE) constexpr int NAME = VALUE;
#include "runtime/cuda/driver/CublasLt.def"

struct CublasLt {
  /// cublasLtMatmulHeuristicResult_t
  struct Algorithm {
    uint64_t data[8];
    size_t workspaceBytes;
    int status;
    float waves;
    int reserved[4];
  };
#define DTCC_BLAS_FUNCTION(FIELD, SYMBOL, PARAMETERS) int(*FIELD) PARAMETERS = nullptr;
#include "runtime/cuda/driver/CublasLt.def"

  /// "13.1.0"
  std::string version() const;
  /// Reason why the library cannot be used; empty if it is there.
  std::string problem;
};

const CublasLt &cublasLt();

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_CUBLASLT_H
