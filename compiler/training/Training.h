//===- Training.h - Optimizer and decay of the command line
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_COMPILER_TRAINING_TRAINING_H
#define DTCC_COMPILER_TRAINING_TRAINING_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc {

/// Writes --optimizer as the module's `graph.optimizer`, --ema as its `graph.average`, and --decay, --no-decay and
/// --group on its states. Failure after one message that names the option and its value.
mlir::LogicalResult applyTrainingOptions(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_TRAINING_TRAINING_H
