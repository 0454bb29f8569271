//===- BatchGroups.h - Which samples a batch norm or a loss sees together
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batch statistics are those of a micro-batch, as in every framework that accumulates
// gradients, over all its ranks or, with --batch-norm=rank, of each rank alone. So the
// number of micro-batches is a part of the model, and batch norms are told it before any
// plan is made: a plan with another number is refused. The same holds for terms of a loss
// that each micro-batch takes of its own samples (--batch-losses=microbatch).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_TRAINING_BATCHGROUPS_H
#define DTCC_COMPILER_TRAINING_BATCHGROUPS_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc {

/// Sets the groups of all batch norms, and of the loss, by --microbatches, --batch-norm, --batch-losses, --mesh and
/// --plan. Failure after one message.
mlir::LogicalResult declareBatchGroups(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_TRAINING_BATCHGROUPS_H
