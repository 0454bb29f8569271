//===- OrderSums.h - Which term of a sum over micro-batches comes first
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums begin by overwriting what the last step left. Where several phases add to one place
// (two stages of a rank that read one parameter, or a gradient made in parts by the input
// and the weight gradients), which of them begins follows from the order of the actions.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_PARTITION_ORDERSUMS_H
#define DTCC_PASSES_SPMD_PARTITION_ORDERSUMS_H

#include "dialects/spmd/Spmd.h"

namespace dtcc::spmd {

/// Phases in the order of their first runs; without actions, of the text.
llvm::SmallVector<PhaseOp> byFirstRun(ProgramOp program);

/// Sets `again` of all accumulations and of reductions into shares but the first to run of
/// each place. A transient bucket begins anew in each phase.
void orderSums(ProgramOp program);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_ORDERSUMS_H
