//===- ErrorStream.h - Where errors that no location has are told
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dtcc and dtcc-plan share options and searches: what is wrong with them is told in the name
// of the tool that was called.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_CONSOLE_ERRORSTREAM_H
#define DTCC_COMPILER_CONSOLE_ERRORSTREAM_H

#include "compiler/console/StatusLine.h"

namespace dtcc {

/// Standard error behind "dtcc: error: ": one message and its end of line are to follow.
llvm::raw_ostream &errorStream();

/// Tells `message` there.
mlir::LogicalResult wrong(const llvm::Twine &message);

/// Lets a crash of any thread say in front of its stack that the tool is at fault, not its input, and what a report
/// needs: `command`, the tool and its arguments, among it. A file that grows beyond the limit of file sizes (ulimit -f)
/// is no crash. LLVM's own handlers must be there before.
void prepareForCrashes(llvm::ArrayRef<const char *> command);

} // namespace dtcc

#endif // DTCC_COMPILER_CONSOLE_ERRORSTREAM_H
