//===- Help.h - What dtcc-plan --help says
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_HELP_H
#define DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_HELP_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace dtcc {

/// A screen: of the tool, or of one of its commands.
extern const char *const kHelp;
std::string helpOf(llvm::StringRef command);

/// The options of all commands, a group each, as lines of fields between tabs.
std::string helpTable();

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_HELP_H
