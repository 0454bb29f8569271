//===- BatchStatistics.h - Batch normalisation on the samples of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank has some samples of a group (graph.batch_norm's `groups`), and the ranks that share
// a group merge their statistics. A group never spans micro-batches, which decides the legal
// splits of samples.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_BATCHSTATISTICS_H
#define DTCC_PASSES_SPMD_LAYOUT_BATCHSTATISTICS_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "passes/spmd/layout/Projection.h"
#include <optional>

namespace dtcc::spmd {

/// Returns the reason why an op over batch statistics cannot have its samples split as in
/// `placement`, or nothing if it can or if the op has no batch statistics.
std::optional<std::string> whyNotGrouped(mlir::Operation *op, const FactorMap &map, const Placement &placement,
                                         const Mesh &mesh);

/// Emits the local form of batch_norm, its gradients and running_statistics, in elementwise
/// ops, sums and all-reduces; nothing for other ops. `types` are those of the local results.
std::optional<llvm::SmallVector<mlir::Value>> emitBatchStatistics(mlir::OpBuilder &builder, mlir::Operation *op,
                                                                  const FactorMap &map, const Placement &placement,
                                                                  llvm::ArrayRef<mlir::Value> operands,
                                                                  llvm::ArrayRef<mlir::Type> types);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_BATCHSTATISTICS_H
