//===- OnHost.h - What waits with the hosts of devices -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --offload=activations, from the plan's ops to buffers. State has kOffloadAttr (Dist.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_DIST_ONHOST_H
#define DTCC_DIALECTS_DIST_ONHOST_H

#include "llvm/ADT/StringRef.h"

namespace dtcc::dist {

/// A unit attribute of forward ops, and of buffers of exec: what they make waits with the host for the backward pass.
inline constexpr llvm::StringLiteral kOnHostAttr = "dist.on_host";

} // namespace dtcc::dist

#endif // DTCC_DIALECTS_DIST_ONHOST_H
