//===- ToldError.h - An error of which the user has read
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_TOLDERROR_H
#define DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_TOLDERROR_H

#include "llvm/Support/Error.h"

namespace dtcc {

/// An error whose message has been printed already.
class ToldError : public llvm::ErrorInfo<ToldError> {
public:
  static char ID;
  void log(llvm::raw_ostream &stream) const override {}
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/// Prints the message of an error, unless the user has read it; false if there was one.
bool tell(llvm::Error error);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_TOLDERROR_H
