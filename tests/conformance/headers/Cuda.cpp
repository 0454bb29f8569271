//===- Cuda.cpp - The driver's interface as NVIDIA's header has it -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/headers/Declarations.h"
#include "tests/emulator/cuda/Streams.h"

#include <cuda.h>

#include "runtime/cuda/driver/Driver.h"

namespace dtcc::rt::cuda {
using headers::MatchesCall;
#define DTCC_CUDA_FUNCTION(FIELD, SYMBOL, PARAMETERS) DTCC_HEADER_FUNCTION(#SYMBOL, SYMBOL, CUresult PARAMETERS)
#define DTCC_CUDA_OLD_FUNCTION(FIELD, SYMBOL, PARAMETERS)                                                              \
  static_assert(MatchesCall<CUresult PARAMETERS, decltype(::SYMBOL)>::value, #SYMBOL ": the header declares another");
#define DTCC_CUDA_NUMBER(NAME, THEIRS, VALUE) DTCC_HEADER_NUMBER(THEIRS, NAME)
#include "runtime/cuda/driver/Driver.def"

static_assert(std::is_same_v<CUdeviceptr, ::CUdeviceptr> && std::is_same_v<CUdevice, ::CUdevice>);
static_assert(CUDA_SUCCESS == 0 && sizeof(CUuuid) == 16);
} // namespace dtcc::rt::cuda

// Results that the emulator returns.
namespace dtcc::emulator {
#define DTCC_EMULATED_RESULT(NAME, THEIRS, VALUE, TEXT) DTCC_HEADER_NUMBER(THEIRS, NAME)
#include "tests/emulator/cuda/Results.def"
} // namespace dtcc::emulator
