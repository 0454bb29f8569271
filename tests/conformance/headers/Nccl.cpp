//===- Nccl.cpp - NCCL's interface as its header has it -------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/conformance/headers/Declarations.h"

#include <nccl.h>

#include "runtime/cuda/collective/NcclMember.h"

namespace dtcc::rt::cuda {
#define DTCC_NCCL_FUNCTION(FIELD, SYMBOL, PARAMETERS) DTCC_HEADER_FUNCTION(#SYMBOL, SYMBOL, int PARAMETERS)
#define DTCC_NCCL_NUMBER(NAME, THEIRS, VALUE) DTCC_HEADER_NUMBER(THEIRS, NAME)
#include "runtime/cuda/collective/Nccl.def"

#define FIELD(OURS, THEIRS) DTCC_HEADER_FIELD(NcclConfig, OURS, ncclConfig_t, THEIRS)
FIELD(size, size)
FIELD(magic, magic)
FIELD(version, version)
FIELD(blocking, blocking)
FIELD(clusterSize, cgaClusterSize)
FIELD(fewestBlocks, minCTAs)
FIELD(mostBlocks, maxCTAs)
FIELD(network, netName)
constexpr ncclConfig_t kTheirs = NCCL_CONFIG_INITIALIZER;
constexpr NcclConfig kOurs;
static_assert(kOurs.magic == kTheirs.magic && NcclConfig::kUndefined == NCCL_CONFIG_UNDEF_INT &&
              kTheirs.netName == nullptr && sizeof(NcclConfig) == offsetof(ncclConfig_t, splitShare) &&
              kOurs.version == NCCL_VERSION(2, 17, 0));

static_assert(ncclSuccess == 0 && sizeof(NcclId) == sizeof(ncclUniqueId));
} // namespace dtcc::rt::cuda
