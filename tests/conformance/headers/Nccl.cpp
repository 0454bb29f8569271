//===- Nccl.cpp - NCCL's interface as its header has it -------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/headers/Declarations.h"

#include <nccl.h>

#include "runtime/cuda/NcclMember.h"

namespace dtcc::rt::cuda {
#define DTCC_NCCL_FUNCTION(FIELD, SYMBOL, PARAMETERS) DTCC_HEADER_FUNCTION(#SYMBOL, SYMBOL, int PARAMETERS)
#define DTCC_NCCL_NUMBER(NAME, THEIRS, VALUE) DTCC_HEADER_NUMBER(THEIRS, NAME)
#include "runtime/cuda/Nccl.def"

static_assert(ncclSuccess == 0 && sizeof(NcclId) == sizeof(ncclUniqueId));
} // namespace dtcc::rt::cuda
