//===- WeightsOption.h - The checkpoint of --weights -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler reads the headers of the checkpoint and no data: a model of any size compiles on
// a machine that cannot hold it. The program reads the data when it starts.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_TRAINING_WEIGHTSOPTION_H
#define DTCC_COMPILER_TRAINING_WEIGHTSOPTION_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc {

/// With --weights, matches the states of `module` with the checkpoint's tensors: a state that it holds keeps no value
/// of the model's. Fails with one message that lists what is missing, unfit and nobody's.
mlir::LogicalResult applyWeights(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_TRAINING_WEIGHTSOPTION_H
