//===- OnHost.h - What waits with the hosts of devices -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --offload=activations, from the plan's ops to buffers. State has kOffloadAttr (Spmd.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_ONHOST_H
#define DTCC_DIALECTS_SPMD_ONHOST_H

#include "llvm/ADT/StringRef.h"

namespace dtcc::spmd {

/// A unit attribute of forward ops, and of buffers of exec: what they make waits with the host for the backward pass.
inline constexpr llvm::StringLiteral kOnHostAttr = "spmd.on_host";

} // namespace dtcc::spmd

#endif // DTCC_DIALECTS_SPMD_ONHOST_H
