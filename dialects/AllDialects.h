//===- AllDialects.h - The list of dialects of dtcc
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where dialects are registered: a new dialect adds its row in
// AllDialects.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_ALLDIALECTS_H
#define DTCC_DIALECTS_ALLDIALECTS_H

#include "mlir/IR/DialectRegistry.h"

namespace dtcc {
/// Registers dtcc's dialects and the upstream ones that its IR may hold.
void registerAllDialects(mlir::DialectRegistry &registry);
} // namespace dtcc

#endif // DTCC_DIALECTS_ALLDIALECTS_H
