//===- OnHost.h - Mark of offloaded activations ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes --offload=activations from the ops of the plan to buffers. State has kOffloadAttr
// (Spmd.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_ONHOST_H
#define DTCC_DIALECTS_SPMD_ONHOST_H

#include "llvm/ADT/StringRef.h"

namespace dtcc::spmd {

/// A unit attribute of forward ops, and of buffers of exec. It marks saved activations that are offloaded to host
/// memory until the backward pass.
inline constexpr llvm::StringLiteral kOnHostAttr = "spmd.on_host";

} // namespace dtcc::spmd

#endif // DTCC_DIALECTS_SPMD_ONHOST_H
