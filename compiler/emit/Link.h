//===- Link.h - The last step to an executable -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_EMIT_LINK_H
#define DTCC_COMPILER_EMIT_LINK_H

#include "compiler/console/OutputFiles.h"
#include <string>

namespace dtcc {

/// Path of libdtcc_rt.a: in lib/ beside the folder of the running dtcc.
std::string runtimeLibrary(const char *argv0);

/// Links the parts `objects` of `files` with the runtime by the system's C++ driver into
/// the part `program`, and what defines `device` if that is not null. Fails with one message, which has the linker's
/// own first complaint and names no temporary file.
mlir::LogicalResult linkProgram(const OutputFiles &files, llvm::ArrayRef<std::string> objects, llvm::StringRef runtime,
                                llvm::StringRef program, const char *device);

} // namespace dtcc

#endif // DTCC_COMPILER_EMIT_LINK_H
