//===- Communicators.h - Groups of ranks that a program declares -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages of a pipeline name the same group alike, so that their ranks open it together.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_BUFFERIZE_COMMUNICATORS_H
#define DTCC_PASSES_EXEC_BUFFERIZE_COMMUNICATORS_H

#include "dialects/exec/Exec.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::exec {

class Communicators {
public:
  void setProgram(ProgramOp newProgram) { program = newProgram; }
  /// The symbol of the group over `axes` (rank axes), or of the coordinates `members` of the one axis.
  mlir::FlatSymbolRefAttr over(mlir::ArrayAttr axes, llvm::ArrayRef<int64_t> members = {});
  /// The symbol of a channel of messages over a rank axis.
  mlir::FlatSymbolRefAttr channel(mlir::StringAttr axis, int64_t number);
  /// The group over `axes` as a parameter of a library op; a unit attribute if there are no axes.
  mlir::Attribute coordinate(std::optional<mlir::ArrayAttr> axes);

private:
  mlir::FlatSymbolRefAttr declare(const llvm::Twine &name, mlir::ArrayAttr axes, mlir::DenseI64ArrayAttr members);

  ProgramOp program;
  llvm::StringMap<CommunicatorOp> known;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_COMMUNICATORS_H
