//===- GpuCode.h - The kernels of a program for GPUs, as its image holds them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX for the oldest architecture that is asked for, which drivers compile for the GPU that
// they find; and for each architecture that --gpu-arch names, what NVIDIA's assembler makes
// of it where there is one, so that the driver has nothing to compile.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_EMIT_GPUCODE_H
#define DTCC_COMPILER_EMIT_GPUCODE_H

#include "compiler/console/OutputFiles.h"
#include "compiler/emit/Image.h"
#include "compiler/options/Options.h"

namespace dtcc {

/// The generated kernels of `module` (exec-generate-gpu-kernels). Failure after one message.
mlir::FailureOr<std::vector<GpuModule>> makeGpuModules(mlir::ModuleOp module, const Options &options,
                                                       const OutputFiles &files);

} // namespace dtcc

#endif // DTCC_COMPILER_EMIT_GPUCODE_H
