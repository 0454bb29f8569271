//===- BatchStatistics.h - Batch normalisation on the examples of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank has some examples of a group (graph.batch_norm's `groups`); the ranks that share
// a group merge their statistics. A group never spans micro-batches: what legal splits of
// the examples are follows from that.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_BATCHSTATISTICS_H
#define DTCC_PASSES_SPMD_LAYOUT_BATCHSTATISTICS_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "passes/spmd/layout/Projection.h"
#include <optional>

namespace dtcc::spmd {

/// Why an op over batch statistics cannot have its examples split as in `placement`;
/// nothing if it can, or if the op is another.
std::optional<std::string> whyNotGrouped(mlir::Operation *op, const FactorMap &map, const Placement &placement,
                                         const Mesh &mesh);

/// The local form of batch_norm, its gradients and running_statistics, in elementwise ops,
/// sums and all-reduces; nothing for other ops. `types` are those of the local results.
std::optional<llvm::SmallVector<mlir::Value>> emitBatchStatistics(mlir::OpBuilder &builder, mlir::Operation *op,
                                                                  const FactorMap &map, const Placement &placement,
                                                                  llvm::ArrayRef<mlir::Value> operands,
                                                                  llvm::ArrayRef<mlir::Type> types);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_BATCHSTATISTICS_H
