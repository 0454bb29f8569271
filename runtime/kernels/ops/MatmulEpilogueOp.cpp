//===- MatmulEpilogueOp.cpp - Not on processors ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs for processors have no such command (passes/exec/Target.h): what follows a
// product is part of a generated kernel there.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

namespace dtcc::rt {

template <>
std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_MATMUL_EPILOGUE>(const dtcc_command &command, Rank &rank) {
  CheckedOperands(command, rank).reject("is an op of GPUs, and the program computes on processors");
}

} // namespace dtcc::rt
