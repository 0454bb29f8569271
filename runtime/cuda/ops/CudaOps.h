//===- CudaOps.h - One factory a row of LibraryOps.def on GPUs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As runtime/kernels/ops/LibraryOps.h: a row without an implementation does not link.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_CUDAOPS_H
#define DTCC_RUNTIME_CUDA_OPS_CUDAOPS_H

#include "runtime/cuda/driver/CudaOp.h"
#include "runtime/kernels/ops/CheckedOperands.h"

namespace dtcc::rt::cuda {

/// Checks and binds a command of this op.
template <dtcc_library_op op>
std::unique_ptr<CudaOp> bindCudaOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher);

#define DTCC_LIBRARY_OP(NAME, MNEMONIC, DESCRIPTION)                                                                   \
  template <>                                                                                                          \
  std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_##NAME>(const CheckedOperands &operands, Rank &rank,                     \
                                                      Launcher &launcher);
#include "runtime/abi/LibraryOps.def"

/// DTCC_COPY and DTCC_FILL.
std::unique_ptr<CudaOp> bindCopy(const dtcc_view &from, const dtcc_view &to, Launcher &launcher);
/// Copies between dense views, one of which lies in host memory.
std::unique_ptr<CudaOp> bindHostCopy(const dtcc_view &view, Launcher &launcher);
std::unique_ptr<CudaOp> bindFill(const dtcc_view &view, int64_t bits, Launcher &launcher);

/// Defines bindCudaOp of the row NAME as an op made from (operands, rank, launcher) and what else it takes.
#define DTCC_CUDA_OP(NAME, OP, ...)                                                                                    \
  template <>                                                                                                          \
  std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_##NAME>(const CheckedOperands &operands, Rank &rank,                     \
                                                      Launcher &launcher) {                                            \
    return std::make_unique<OP>(operands, rank, launcher __VA_OPT__(, ) __VA_ARGS__);                                  \
  }

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_CUDAOPS_H
