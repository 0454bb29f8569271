//===- BlasProduct.h - Matrix products by a BLAS -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_BLAS_BLASPRODUCT_H
#define DTCC_RUNTIME_KERNELS_BLAS_BLASPRODUCT_H

#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/blas/BlasLibrary.h"
#include "runtime/kernels/vector/ProductProblem.h"

namespace dtcc::rt {

/// Whether a BLAS can compute the problem: in f32, with sizes and strides that fit into 32 bits. One dimension of each
/// operand is contiguous, and so are the columns of the result and the bias.
bool suitsBlas(const ProductProblem &problem);

/// Computes a problem that suits, in one part a thread of the team. The bits may depend on the number of threads.
void blasProduct(Sgemm sgemm, ThreadTeam &team, const ProductProblem &problem);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_BLAS_BLASPRODUCT_H
