//===- Cudnn.h - NVIDIA's fused operations -------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN is opened when a program starts. Without it, or with one that is too old, attention
// and convolutions run in the runtime's own kernels.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_CUDNN_H
#define DTCC_RUNTIME_CUDA_DRIVER_CUDNN_H

#include "runtime/cuda/driver/CudaOp.h"

#include <cstddef>
#include <string>

namespace dtcc::rt::cuda {

namespace dnn {
#define DTCC_DNN_NUMBER(NAME, THEIRS, VALUE) constexpr int NAME = VALUE;
#include "runtime/cuda/driver/Cudnn.def"
} // namespace dnn

struct Cudnn {
#define DTCC_DNN_FUNCTION(FIELD, SYMBOL, RESULT, PARAMETERS) RESULT(*FIELD) PARAMETERS = nullptr;
#include "runtime/cuda/driver/Cudnn.def"

  /// "9.10.2"
  std::string version() const;
  /// Reason why the library cannot be used; empty if it is there.
  std::string problem;
};

/// The oldest that is used, as cudnnGetVersion has it: attention of 9.10.0 and 9.10.1 is wrong (cudnn-frontend, which
/// passes them over), and what is older wants other graphs.
constexpr size_t kLeastCudnn = 91002;

const Cudnn &cudnn();

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_CUDNN_H
