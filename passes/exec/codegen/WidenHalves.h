//===- WidenHalves.h - Halves in memory, f32 in registers -----------*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel loads and stores bf16 and f16 and computes in f32: a value that never leaves
// the kernel is not rounded. Conversions are LLVM's, which uses the processor's own.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_WIDENHALVES_H
#define DTCC_PASSES_EXEC_CODEGEN_WIDENHALVES_H

#include "mlir/IR/Builders.h"

namespace dtcc::exec {

/// Makes every half in a kernel's body an f32: arguments, results, constants. A cast that rounds is followed by one
/// back to f32. The types of memory stay, which stand with the buffers.
void widenHalves(mlir::Block &body);

/// The integer type whose bits a half is loaded and stored as; other types themselves.
mlir::Type bitsOfHalf(mlir::Type element);
/// `bits` (scalar or vector, of bitsOfHalf) as f32, and back, rounded to nearest even.
mlir::Value fromHalf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits, mlir::Type half);
mlir::Value toHalf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type half);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_WIDENHALVES_H
