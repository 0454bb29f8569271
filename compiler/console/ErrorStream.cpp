//===- ErrorStream.cpp - Where errors that no location has are told
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/ErrorStream.h"
#include "compiler/console/StatusLine.h"
#include "llvm/Support/WithColor.h"

static std::string &name() {
  static std::string name = "dtcc";
  return name;
}

void dtcc::setToolName(llvm::StringRef to) { name() = to.str(); }

llvm::StringRef dtcc::toolName() { return name(); }

llvm::raw_ostream &dtcc::errorStream() { return llvm::WithColor::error(messageStream(), toolName()); }

mlir::LogicalResult dtcc::wrong(const llvm::Twine &message) {
  errorStream() << message << '\n';
  return mlir::failure();
}
