//===- Exec.h - The exec dialect -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one public header of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_EXEC_EXEC_H
#define DTCC_DIALECTS_EXEC_EXEC_H

#include "dialects/interfaces/Bytes.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace dtcc::exec {
/// On commands of the update that stand in another phase than it.
inline constexpr llvm::StringLiteral kOfUpdateAttr = "of_update";

/// The dtcc_library_op of a mnemonic of LibraryOps.def.
std::optional<uint32_t> getLibraryOp(llvm::StringRef mnemonic);
/// Whether operands of the library op may be in host memory.
bool opStreams(llvm::StringRef mnemonic);
/// The dtcc_dtype of an element type.
std::optional<uint8_t> getDType(mlir::Type type);
/// Strides in elements; the type must have static ones.
llvm::SmallVector<int64_t> getStrides(mlir::MemRefType type);
/// Whether the elements follow each other in row-major order without gaps.
bool isDense(mlir::MemRefType type);
/// Bytes from the first element to the end of the last.
int64_t getSpan(mlir::MemRefType type);
} // namespace dtcc::exec

#include "dialects/exec/ExecDialect.h.inc"
#include "dialects/exec/ExecEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/ExecInterfaces.h.inc"
#include "dialects/exec/ExecTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.h.inc"

namespace dtcc::exec {
/// Bytes that a command reads and writes: its inputs, its outputs, and these again where it reads them.
double bytesMoved(CommandOpInterface command);
} // namespace dtcc::exec

#endif // DTCC_DIALECTS_EXEC_EXEC_H
