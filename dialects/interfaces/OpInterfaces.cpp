//===- OpInterfaces.cpp - What passes know of an op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/OpInterfaces.h"

#include "dialects/interfaces/OpInterfaces.cpp.inc"

std::string dtcc::describeFirstType(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << (op->getNumOperands() ? op->getOperand(0) : op->getResult(0)).getType();
  return text;
}
