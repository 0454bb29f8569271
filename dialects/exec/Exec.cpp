//===- Exec.cpp - The exec dialect -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/exec/ExecDialect.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#include "dialects/exec/ExecInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/ExecTypes.cpp.inc"

using namespace mlir;
using namespace dtcc::exec;

void ExecDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/exec/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/ExecOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.cpp.inc"
