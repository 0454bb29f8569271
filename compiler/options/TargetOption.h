//===- TargetOption.h - What a program is compiled for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_OPTIONS_TARGETOPTION_H
#define DTCC_COMPILER_OPTIONS_TARGETOPTION_H

#include "compiler/options/Options.h"

namespace dtcc {

/// Decides what is compiled for, where --target does not say it: programs for GPUs where --cluster has some, or for
/// --emit=ptx. Options that follow become those of the target (cluster, precision, architectures). --target=cuda
/// without a cluster is for as many H100s as --mesh or --plan has ranks. Failure after one message, also about options
/// that make no sense for the target.
mlir::LogicalResult resolveTarget(Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_TARGETOPTION_H
