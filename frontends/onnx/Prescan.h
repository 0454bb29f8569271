//===- Prescan.h - Checks of a whole file before anything is built
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names are defined once and before their use; every operator is known. What is
// unsupported is listed all at once.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_PRESCAN_H
#define DTCC_FRONTENDS_ONNX_PRESCAN_H

#include "frontends/onnx/Rules.h"
#include "frontends/onnx/states/SourceFile.h"

namespace dtcc::onnx {

struct Prescan {
  /// Names that some node or output uses.
  llvm::StringSet<> used;
  /// Nodes of the file, those of functions and branches included.
  int64_t nodes = 0;
};

/// Checks the file. Failure after one message.
mlir::FailureOr<Prescan> prescan(const SourceFile &source, const RuleTable &table);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_PRESCAN_H
