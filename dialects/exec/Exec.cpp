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

namespace dtcc::exec {
/// The custom<> directives of a collective: the mnemonics of its rows.
template <typename Row> static ParseResult parseRow(OpAsmParser &parser, FailureOr<Row> row, IntegerAttr &attribute) {
  if (failed(row))
    return failure();
  attribute = parser.getBuilder().getI32IntegerAttr(static_cast<int32_t>(*row));
  return success();
}
static ParseResult parseCollectiveKind(OpAsmParser &parser, IntegerAttr &kind) {
  return parseRow(parser, dtcc::parseCollectiveKind(parser), kind);
}
static ParseResult parseReduction(OpAsmParser &parser, IntegerAttr &reduction) {
  return parseRow(parser, dtcc::parseReduction(parser), reduction);
}
static void printCollectiveKind(OpAsmPrinter &printer, Operation *, IntegerAttr kind) {
  printer << mnemonicOf(static_cast<CollectiveKind>(kind.getInt()));
}
static void printReduction(OpAsmPrinter &printer, Operation *, IntegerAttr reduction) {
  printer << mnemonicOf(static_cast<Reduction>(reduction.getInt()));
}
} // namespace dtcc::exec

#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.cpp.inc"
