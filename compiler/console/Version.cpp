//===- Version.cpp - The version of a tool
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/Version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

void dtcc::printVersion(llvm::raw_ostream &stream, llvm::StringRef tool) {
  stream << tool << " " DTCC_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
}
