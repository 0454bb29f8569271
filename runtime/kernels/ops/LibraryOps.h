//===- LibraryOps.h - One factory a row of LibraryOps.def -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every row of LibraryOps.def that processors have declares its factory here, and the
// registry names them all: a row without an implementation does not link.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_LIBRARYOPS_H
#define DTCC_RUNTIME_KERNELS_OPS_LIBRARYOPS_H

#include "runtime/kernels/ops/CheckedOperands.h"

namespace dtcc::rt {

/// Checks and binds a command of this op.
template <dtcc_library_op op> std::unique_ptr<LibraryOp> bindLibraryOp(const dtcc_command &command, Rank &rank);

#define DTCC_GPU_OP(NAME, MNEMONIC, DESCRIPTION)
#define DTCC_LIBRARY_OP(NAME, MNEMONIC, DESCRIPTION)                                                                   \
  template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_##NAME>(const dtcc_command &command, Rank &rank);
#include "runtime/abi/LibraryOps.def"

/// Defines bindLibraryOp of the row NAME as an op made from (operands, rank) and what else it takes.
#define DTCC_CPU_OP(NAME, OP, ...)                                                                                     \
  template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_##NAME>(const dtcc_command &command, Rank &rank) {     \
    return std::make_unique<OP>(CheckedOperands(command, rank), rank __VA_OPT__(, ) __VA_ARGS__);                      \
  }

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_LIBRARYOPS_H
