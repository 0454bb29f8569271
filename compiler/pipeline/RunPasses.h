//===- RunPasses.h - Runs lists of passes as the command line asks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All passes of the compiler run through here, so that --print-ir-after, --time-passes and MLIR's own options
// (--mlir-timing, --mlir-print-ir-after-all, ..) hold for each of them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PIPELINE_RUNPASSES_H
#define DTCC_COMPILER_PIPELINE_RUNPASSES_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace dtcc {

/// Gives MLIR its options. Call it before the context is made, which reads some of them. Failure after one message.
mlir::LogicalResult applyMlirOptions(const Options &options);

/// Prints the remarks that --remarks asks for: each says what a pass did, in numbers. Failure after one message.
mlir::LogicalResult enableRemarks(mlir::MLIRContext &context, const Options &options);

/// Whether the options ask to print what passes do: their times, the IR between them, or what MLIR's own options say.
bool showsPasses(const Options &options);
/// The options without those.
Options withoutShowing(Options options);

/// Runs the passes that `build` adds. `verifies`: ops are verified behind each pass.
mlir::LogicalResult runPasses(mlir::ModuleOp module, const Options &options,
                              llvm::function_ref<void(mlir::OpPassManager &)> build, bool verifies = true);

} // namespace dtcc

#endif // DTCC_COMPILER_PIPELINE_RUNPASSES_H
