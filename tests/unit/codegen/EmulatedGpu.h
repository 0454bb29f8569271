//===- EmulatedGpu.h - GPU kernels on the threads of a test
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs generated GPU kernels where there is no GPU. Each thread of a block is a fiber;
// shuffles wait for the warp, barriers for the block. What would hang a GPU, threads of a
// warp or block that do not meet, is found.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_CODEGEN_EMULATEDGPU_H
#define DTCC_TESTS_UNIT_CODEGEN_EMULATEDGPU_H

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc::test {

/// Makes calls of what a lowered kernel asks of a GPU: numbers of thread and block, shuffles, barriers.
void emulateGpu(mlir::ModuleOp module);
/// Gives the engine what these calls go to.
void bindEmulatedGpu(mlir::ExecutionEngine &engine);

/// Runs the kernel `packed` (ExecutionEngine::lookupPacked) with `arguments`, one pointer each to
/// its parameters, block by block. False if threads wait for ones that never come.
bool launch(void (*packed)(void **), std::vector<void *> arguments, int64_t grid, int64_t block);

} // namespace dtcc::test

#endif // DTCC_TESTS_UNIT_CODEGEN_EMULATEDGPU_H
