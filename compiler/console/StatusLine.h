//===- StatusLine.h - What a tool is doing, on one line of a terminal
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On standard error where that is a terminal, and nothing elsewhere. Messages and results
// take its place.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_CONSOLE_STATUSLINE_H
#define DTCC_COMPILER_CONSOLE_STATUSLINE_H

#include "mlir/Support/LLVM.h"

namespace dtcc {

/// Sets the name that messages begin with. Mains other than dtcc call this before any message.
void setToolName(llvm::StringRef name);
llvm::StringRef toolName();

/// "TOOL: WHAT ..", cut at the terminal's width, while this lives or until the next is made.
class Status {
public:
  explicit Status(const llvm::Twine &what);
  ~Status();
  Status(const Status &) = delete;
  Status &operator=(const Status &) = delete;
};

/// Before results go to standard output, which may be the same terminal.
void clearStatus();

/// Standard error, with no status line on it.
llvm::raw_ostream &messageStream();

} // namespace dtcc

#endif // DTCC_COMPILER_CONSOLE_STATUSLINE_H
