//===- Pipelines.h - The compiler as lists of passes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PIPELINE_PIPELINES_H
#define DTCC_COMPILER_PIPELINE_PIPELINES_H

#include "compiler/options/Options.h"
#include "mlir/Pass/PassManager.h"

namespace dtcc {

/// An imported model to a training step: `@loss` becomes `@step`.
void buildGraphPipeline(mlir::OpPassManager &manager, const Options &options);
/// A step with layouts to the program of a rank.
void buildSpmdPipeline(mlir::OpPassManager &manager, const Options &options);
/// spmd.program -> exec.program with planned arenas.
void buildMemoryPipeline(mlir::OpPassManager &manager, const Options &options);
/// Checks exec.programs with planned arenas.
void buildCheckPipeline(mlir::OpPassManager &manager);
/// Both.
void buildExecPipeline(mlir::OpPassManager &manager, const Options &options);
/// exec.func -> llvm.func, of the target.
void buildCodePipeline(mlir::OpPassManager &manager, const Options &options);

/// Registers these lists by name, so that `dtcc-opt --dtcc-exec` or
/// `dtcc-opt --pass-pipeline='builtin.module(dtcc-spmd,dtcc-exec)'` runs them.
void registerPipelines();

} // namespace dtcc

#endif // DTCC_COMPILER_PIPELINE_PIPELINES_H
