//===- BlasLibrary.h - Libraries with the C interface of BLAS -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opened at start, not linked: a compiled program runs where they are missing.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_BLAS_BLASLIBRARY_H
#define DTCC_RUNTIME_KERNELS_BLAS_BLASLIBRARY_H

namespace dtcc::rt {

enum class BlasLibrary { OpenBlas, Mkl };

/// cblas_sgemm with integers of 32 bits: order, transpositions, m, n, k, alpha, a and its leading dimension, b and its,
/// beta, c and its.
using Sgemm = void (*)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                       int);

/// The product of the library, which computes with the thread that calls it and may be called by several at once.
/// Null where the library is missing. The library stays open for the whole process.
Sgemm sgemmOf(BlasLibrary library);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_BLAS_BLASLIBRARY_H
