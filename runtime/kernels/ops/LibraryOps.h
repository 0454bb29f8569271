//===- LibraryOps.h - One factory a row of LibraryOps.def -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every row of LibraryOps.def declares its factory here, and the registry names
// them all: a row without an implementation does not link.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_LIBRARYOPS_H
#define DTCC_RUNTIME_KERNELS_OPS_LIBRARYOPS_H

#include "runtime/kernels/ops/LibraryOp.h"

namespace dtcc::rt {

/// Checks and binds a command of this op.
template <dtcc_library_op op> std::unique_ptr<LibraryOp> bindLibraryOp(const dtcc_command &command, Rank &rank);

#define DTCC_LIBRARY_OP(NAME, MNEMONIC, DESCRIPTION)                                                                   \
  template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_##NAME>(const dtcc_command &command, Rank &rank);
#include "runtime/abi/LibraryOps.def"

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_LIBRARYOPS_H
