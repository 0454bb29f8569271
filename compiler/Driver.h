//===- Driver.h - Module in, artifact out -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_DRIVER_H
#define DTCC_COMPILER_DRIVER_H

#include "compiler/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc {

/// Compiles `module`, at whatever level it is, to what `options.emit` names. `argv0` is
/// how the compiler was called: the runtime lies beside it. Nothing is written unless
/// all went well; failures have been reported.
mlir::LogicalResult compileModule(mlir::ModuleOp module, const Options &options, const char *argv0);

} // namespace dtcc

#endif // DTCC_COMPILER_DRIVER_H
