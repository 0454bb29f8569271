//===- CollectiveSummary.h - What a step communicates, by count and bytes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_PROGRAM_COLLECTIVESUMMARY_H
#define DTCC_PASSES_SPMD_PROGRAM_COLLECTIVESUMMARY_H

#include "dialects/spmd/Spmd.h"

namespace dtcc::spmd {

/// All collectives of one kind over one set of axes, in one phase.
struct CollectiveRow {
  std::string phase;
  /// A mnemonic of runtime/abi/Collectives.def.
  std::string kind;
  Axes axes;
  /// Ranks that take part in each.
  int64_t group = 1;
  /// Per rank and step: repeated phases count each time.
  int64_t count = 0;
  /// Bytes of a rank on the larger side of each collective, summed over `count`: the operand
  /// of a reduction, the result of a gather.
  int64_t bytes = 0;
  bool operator==(const CollectiveRow &) const = default;
};

/// Summarises the collectives of a program, in the order of their first appearance.
std::vector<CollectiveRow> summarizeCollectives(ProgramOp program);

/// One line a row: "update reduce_scatter over dp (2 ranks): 1 x, 512 bytes".
std::string printCollectives(llvm::ArrayRef<CollectiveRow> rows);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PROGRAM_COLLECTIVESUMMARY_H
