//===- MeshOption.h - The axes of --mesh
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_OPTIONS_MESHOPTION_H
#define DTCC_COMPILER_OPTIONS_MESHOPTION_H

#include "compiler/options/Options.h"
#include "planner/parallelism/MeshSizes.h"

namespace dtcc {

/// Most ranks of --cluster=cpu:RANKS, and most ranks and groups of an axis of --mesh.
inline constexpr int64_t kMostRanks = 4096;

/// The axes of --mesh; failure after one message.
mlir::FailureOr<plan::MeshSizes> readMesh(const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_MESHOPTION_H
