//===- CublasLt.cpp - cublasLt's interface as NVIDIA's header has it -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/headers/Declarations.h"

#include <cstddef>
#include <cublasLt.h>

#include "runtime/cuda/driver/CublasLt.h"

namespace dtcc::rt::cuda {
using Algorithm = CublasLt::Algorithm;
#define DTCC_BLAS_FUNCTION(FIELD, SYMBOL, PARAMETERS) DTCC_HEADER_FUNCTION(#SYMBOL, SYMBOL, int PARAMETERS)
#define DTCC_BLAS_NUMBER(NAME, THEIRS, VALUE) DTCC_HEADER_NUMBER(THEIRS, NAME)
#include "runtime/cuda/driver/CublasLt.def"

static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulHeuristicResult_t));
DTCC_HEADER_FIELD(Algorithm, data, cublasLtMatmulHeuristicResult_t, algo)
DTCC_HEADER_FIELD(Algorithm, workspaceBytes, cublasLtMatmulHeuristicResult_t, workspaceSize)
DTCC_HEADER_FIELD(Algorithm, status, cublasLtMatmulHeuristicResult_t, state)
DTCC_HEADER_FIELD(Algorithm, waves, cublasLtMatmulHeuristicResult_t, wavesCount)

DTCC_HEADER_NUMBER(CUBLAS_STATUS_SUCCESS, 0)
DTCC_HEADER_NUMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kAlignmentA + 1)
DTCC_HEADER_NUMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kAlignmentA + 2)
DTCC_HEADER_NUMBER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kAlignmentA + 3)
} // namespace dtcc::rt::cuda
