//===- ErrorStream.cpp - Where errors that no location has are told
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/ErrorStream.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <string>

llvm::raw_ostream &dtcc::errorStream() { return llvm::WithColor::error(messageStream(), toolName()); }

mlir::LogicalResult dtcc::wrong(const llvm::Twine &message) {
  errorStream() << message << '\n';
  return mlir::failure();
}

void dtcc::prepareForCrashes(llvm::ArrayRef<const char *> command) {
  // LLVM keeps the arguments for the first thread alone, and most work is done in others.
  static std::string message;
  llvm::raw_string_ostream stream(message);
  stream << toolName() << ": error: crashed. That is a fault of " << toolName()
         << ", whatever its input: please report it with the lines below and, if you can, the model\nCommand:";
  for (const char *argument : command)
    llvm::sys::printArg(stream << ' ', argument, /*Quote=*/false);
  stream << '\n';
  llvm::setBugReportMsg(message.c_str());
  // A file beyond the limit of file sizes fails to be written, as on a full disk. The linker inherits this.
  std::signal(SIGXFSZ, SIG_IGN);
}
