//===- Link.h - The last step to an executable -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_LINK_H
#define DTCC_COMPILER_LINK_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace dtcc {

/// Where libdtcc_rt.a lies: in lib/ beside the folder of the running dtcc.
std::string runtimeLibrary(const char *argv0);

/// Links `object` with the runtime by the system's C++ driver into `program`, which
/// appears whole or not at all. Fails with a message.
mlir::LogicalResult linkProgram(llvm::StringRef object, llvm::StringRef runtime, llvm::StringRef program);

/// A file that is written under a temporary name beside its own, and renamed when it
/// is whole; removed if it never is.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef target, llvm::StringRef suffix = ".tmp");
  ~TemporaryFile();
  const std::string &path() const { return name; }
  /// Renames it to its target. Fails with a message.
  mlir::LogicalResult keep();

private:
  std::string target, name;
};

} // namespace dtcc

#endif // DTCC_COMPILER_LINK_H
