//===- Link.cpp - The last step to an executable -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Link.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace dtcc;

std::string dtcc::runtimeLibrary(const char *argv0) {
  static int here;
  SmallString<256> path(llvm::sys::fs::getMainExecutable(argv0, &here));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib", "libdtcc_rt.a");
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

TemporaryFile::TemporaryFile(StringRef target, StringRef suffix)
    : target(target), name((target + "." + Twine(llvm::sys::Process::getProcessId()) + suffix).str()) {}

TemporaryFile::~TemporaryFile() { llvm::sys::fs::remove(name); }

LogicalResult TemporaryFile::keep() {
  if (std::error_code code = llvm::sys::fs::rename(name, target)) {
    llvm::WithColor::error() << "cannot write " << target << ": " << code.message() << '\n';
    return failure();
  }
  return success();
}

LogicalResult dtcc::linkProgram(StringRef object, StringRef runtime, StringRef program) {
  if (!llvm::sys::fs::exists(runtime)) {
    llvm::WithColor::error() << "the runtime must be beside the compiler, missing: " << runtime << '\n';
    return failure();
  }
  llvm::ErrorOr<std::string> driver = std::errc::no_such_file_or_directory;
  for (StringRef name : {"c++", "g++", "clang++", "clang++-22"})
    if ((driver = llvm::sys::findProgramByName(name)))
      break;
  if (!driver) {
    llvm::WithColor::error() << "no C++ compiler to link with: install g++ or clang\n";
    return failure();
  }
  TemporaryFile output(program);
  SmallVector<StringRef> arguments{*driver, object, runtime, "-o", output.path(), "-pthread", "-ldl", "-lm"};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(*driver, arguments, std::nullopt, {}, 0, 0, &message);
  if (status != 0) {
    llvm::WithColor::error() << "linking " << program << " by " << *driver << " failed" << (message.empty() ? "" : ": ")
                             << message << '\n';
    return failure();
  }
  return output.keep();
}
