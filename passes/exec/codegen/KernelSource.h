//===- KernelSource.h - What a kernel is generated from
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fused body and the memory of its operands, as exec.func holds them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_KERNELSOURCE_H
#define DTCC_PASSES_EXEC_CODEGEN_KERNELSOURCE_H

#include "dialects/exec/Exec.h"
#include "dialects/spmd/Layout.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc::exec {

/// Alignment in bytes that buffers of every target have at least.
inline constexpr int64_t kMostAligned = 64;

struct KernelSource {
  /// The body's halves are made f32; what is in memory keeps its type. Buffers are taken to be aligned as the
  /// program's are.
  KernelSource(FuncOp func, const spmd::Mesh *mesh);

  mlir::Location loc;
  std::string name;
  /// Graph ops on tensors over the block's arguments, with a terminator that yields the results.
  mlir::Block &body;
  /// The memory layout (strides in elements) of each argument and result; the kernel's
  /// buffers stand in this order. An output may share an input's memory if both have the
  /// same layout and walk the whole domain.
  llvm::SmallVector<mlir::MemRefType> inputs, outputs;
  /// Alignment of each buffer's address, in bytes: a power of two, at most kMostAligned.
  llvm::SmallVector<int64_t> alignments;
  /// One entry a result: 0 store, 1 add to the memory, 2 add unless the slot is 0.
  llvm::SmallVector<int64_t> accumulate;
  /// Needed where the body says that it works on a shard (`offset_axes`).
  const spmd::Mesh *mesh;
};

/// Replaces every exec.func of a module: calls `generate` with the builder before it, then
/// erases it. Buffers are aligned as the views of all its exec.kernel are. Stops at the first failure.
mlir::LogicalResult
replaceFuncs(mlir::ModuleOp module,
             llvm::function_ref<mlir::LogicalResult(mlir::OpBuilder &, const KernelSource &)> generate);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_KERNELSOURCE_H
