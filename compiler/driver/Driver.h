//===- Driver.h - Module in, artifact out -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_DRIVER_DRIVER_H
#define DTCC_COMPILER_DRIVER_DRIVER_H

#include "compiler/console/OutputFiles.h"
#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace dtcc {

/// Suffix of the file beside a program that starts from the model's own values and does not hold them.
inline constexpr llvm::StringLiteral kWeightsSuffix = ".weights";

/// The files that a program is linked from, as parts of its OutputFiles.
struct ProgramParts {
  std::vector<std::string> objects; /* one for each number of ranks */
  bool hasWeights = false;          /* the part "weights", which all of them read */
};

/// Compiles `module`, at whatever level it is, to what `options.emit` names, into `files`,
/// which are open. Of a program that is an object, which is added to `parts`; linkParts does the rest.
/// Nothing else is written unless all went well; failures have been reported.
mlir::LogicalResult compileModule(mlir::ModuleOp module, const Options &options, OutputFiles &files,
                                  ProgramParts &parts);

/// Links the program and puts it in its place, with its weights. `argv0` is how the compiler was called: the runtime
/// lies beside it. Failures have been reported.
mlir::LogicalResult linkParts(const ProgramParts &parts, const Options &options, OutputFiles &files, const char *argv0);

} // namespace dtcc

#endif // DTCC_COMPILER_DRIVER_DRIVER_H
