//===- Cudnn.cpp - cuDNN's interface as NVIDIA's header has it --- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/headers/Declarations.h"

#include <cudnn.h>

#include "runtime/cuda/driver/Cudnn.h"

namespace dtcc::rt::cuda::dnn {
#define DTCC_DNN_FUNCTION(FIELD, SYMBOL, RESULT, PARAMETERS) DTCC_HEADER_FUNCTION(#SYMBOL, SYMBOL, RESULT PARAMETERS)
#define DTCC_DNN_NUMBER(NAME, THEIRS, VALUE) DTCC_HEADER_NUMBER(THEIRS, NAME)
#include "runtime/cuda/driver/Cudnn.def"

DTCC_HEADER_NUMBER(CUDNN_STATUS_SUCCESS, 0)
} // namespace dtcc::rt::cuda::dnn
