//===- Version.h - The version of a tool ------------------------*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_CONSOLE_VERSION_H
#define DTCC_COMPILER_CONSOLE_VERSION_H

#include "mlir/Support/LLVM.h"

namespace dtcc {

/// Prints "TOOL 0.1 (LLVM 22.1.2)" and a line's end: the version of the project and of the libraries it is linked with.
void printVersion(llvm::raw_ostream &stream, llvm::StringRef tool);

} // namespace dtcc

#endif // DTCC_COMPILER_CONSOLE_VERSION_H
