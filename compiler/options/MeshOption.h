//===- MeshOption.h - What --mesh gives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_COMPILER_OPTIONS_MESHOPTION_H
#define DTCC_COMPILER_OPTIONS_MESHOPTION_H

#include "mlir/Support/LLVM.h"
#include <optional>

namespace dtcc {

/// Most ranks of --cluster=cpu:RANKS, and most groups of an axis of --mesh.
inline constexpr int64_t kMostRanks = 4096;

/// The sizes of --mesh=dp=2,tp=2; what is absent is searched for.
struct MeshOption {
  std::optional<int64_t> dp, tp, cp, ep, pp;
  /// Number of data-parallel ranks that share state among themselves: dp=2x4 is two groups of four.
  int64_t groups = 1;

  /// Ranks that it names.
  int64_t product() const { return dp.value_or(1) * tp.value_or(1) * cp.value_or(1) * ep.value_or(1) * pp.value_or(1); }
  /// Whether dp and tp are given. All other axes that are not named then have one rank.
  bool isWhole() const { return dp && tp; }
};

/// Failure after one message.
mlir::LogicalResult parseMesh(llvm::StringRef text, MeshOption &mesh);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_MESHOPTION_H
