//===- Calls.h - The emulated libraries as the runtime declares them -- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_EMULATOR_CALLS_H
#define DTCC_TESTS_UNIT_EMULATOR_CALLS_H

#include "runtime/cuda/driver/CublasLt.h"
#include "runtime/cuda/driver/Driver.h"

struct NcclId {
  char bytes[128];
};

namespace dtcc::rt::cuda {
using Algorithm = CublasLt::Algorithm;
// Every function that the runtime opens must be there, with its types.
extern "C" {
#define DTCC_CUDA_FUNCTION(FIELD, SYMBOL, PARAMETERS) CUresult SYMBOL PARAMETERS;
#include "runtime/cuda/driver/Driver.def"
#define DTCC_BLAS_FUNCTION(FIELD, SYMBOL, PARAMETERS) int SYMBOL PARAMETERS;
#include "runtime/cuda/driver/CublasLt.def"
#define DTCC_NCCL_FUNCTION(FIELD, SYMBOL, PARAMETERS) int SYMBOL PARAMETERS;
#include "runtime/cuda/collective/Nccl.def"
// Driver functions that the emulator offers and this runtime does not call.
CUresult cuMemHostAlloc(void **start, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void *start);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuStreamQuery(CUstream stream);
}
} // namespace dtcc::rt::cuda

#endif // DTCC_TESTS_UNIT_EMULATOR_CALLS_H
