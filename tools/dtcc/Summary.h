//===- Summary.h - What a compilation has made ------------------*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_SUMMARY_H
#define DTCC_TOOLS_DTCC_SUMMARY_H

#include "llvm/Support/Error.h"

namespace dtcc {

/// Prints lines about the program at `path`: of each world the plan as the options that hold it, the memory of a rank
/// and the forecast of a step; then the files written, and a command that runs it. Everything is read from the program
/// itself.
llvm::Error printSummary(llvm::StringRef path, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_SUMMARY_H
