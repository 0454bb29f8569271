//===- ShowCommand.h - dtcc-plan show
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_SHOW_SHOWCOMMAND_H
#define DTCC_TOOLS_DTCC_PLAN_SHOW_SHOWCOMMAND_H

#include "tools/dtcc-plan/arguments/Arguments.h"

namespace dtcc {

/// Prints the plan or the program in the file of `arguments`, and writes the files of --html and --trace.
/// Nothing is printed or written if the file is wrong.
llvm::Error show(const Arguments &arguments, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_SHOW_SHOWCOMMAND_H
