//===- ProductOps.h - A product of matrices as part of another op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_PRODUCTOPS_H
#define DTCC_RUNTIME_CUDA_OPS_PRODUCTOPS_H

#include "runtime/cuda/ops/LibraryProduct.h"

#include <memory>

namespace dtcc::rt::cuda {

/// A matrix as an operand of a product, in a batch of one.
dtcc_view matrixView(dtcc_dtype type, int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride);

/// The product by the library where it can, else by kernels of ours. Its calls have the operands of `views` as buffers.
/// A command with a predicate is left to kernels of ours: the library asks none.
std::unique_ptr<CudaOp> bindProduct(const ProductCommand &command, const std::vector<ProductView> &views,
                                    bool isPredicated, Rank &rank, Launcher &launcher);

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_PRODUCTOPS_H
