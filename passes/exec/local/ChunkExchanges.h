//===- ChunkExchanges.h - Products and their exchanges in parts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_CHUNKEXCHANGES_H
#define DTCC_PASSES_EXEC_LOCAL_CHUNKEXCHANGES_H

#include "mlir/Pass/Pass.h"
#include "planner/cluster/Machine.h"

namespace dtcc::exec {

/// exec-chunk-exchanges for a machine that no --cluster names.
std::unique_ptr<mlir::Pass> createChunkExchangesFor(const cost::Machine &machine);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_CHUNKEXCHANGES_H
