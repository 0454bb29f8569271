//===- Link.cpp - The last step to an executable -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Link.h"
#include "compiler/console/ErrorStream.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <array>

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

#ifdef DTCC_SANITIZED_LINK
// A sanitized runtime links only with the compiler that built it, which brings the sanitizer's own runtime.
static constexpr StringRef linkDrivers[] = {DTCC_SANITIZED_LINK};
static constexpr StringRef linkFlags[] = {"-fsanitize=" DTCC_SANITIZE};
#else
static constexpr StringRef linkDrivers[] = {"c++", "g++", "clang++", "clang++-22"};
static constexpr std::array<StringRef, 0> linkFlags = {};
#endif

/// The line of a linker's messages that says most: the first complaint, else the first
/// line. Paths below `folder` lose it.
static std::string firstComplaint(StringRef log, StringRef folder) {
  auto buffer = llvm::MemoryBuffer::getFile(log);
  StringRef text = buffer ? (*buffer)->getBuffer().trim() : "";
  std::string best = text.split('\n').first.str();
  for (StringRef line : llvm::split(text, '\n'))
    if (line.contains("error") || line.contains("undefined") || line.contains("cannot") || line.contains("failed")) {
      best = line.str();
      break;
    }
  for (size_t at; (at = best.find(folder.str())) != std::string::npos;)
    best.erase(at, folder.size());
  return best;
}

LogicalResult dtcc::linkProgram(const OutputFiles &files, ArrayRef<std::string> objects, StringRef runtime,
                                StringRef program, const char *device) {
  if (!llvm::sys::fs::exists(runtime)) {
    errorStream() << "the runtime must be beside the compiler, missing: " << runtime << '\n';
    return failure();
  }
  llvm::ErrorOr<std::string> driver = std::errc::no_such_file_or_directory;
  for (StringRef name : linkDrivers)
    if ((driver = llvm::sys::findProgramByName(name)))
      break;
  if (!driver) {
    errorStream() << "no C++ compiler to link with: install g++ or clang\n";
    return failure();
  }
  std::string output = files.part(program), log = files.part("link.log");
  SmallVector<std::string> inputs =
      llvm::map_to_vector(objects, [&](const std::string &object) { return files.part(object); });
  SmallVector<StringRef> command{*driver};
  llvm::append_range(command, inputs);
  llvm::append_values(command, runtime, "-o", output, "-pthread", "-ldl", "-lm");
  llvm::append_range(command, linkFlags);
  std::string wanted = device ? ("-Wl,--undefined=" + StringRef(device)).str() : "";
  if (device)
    command.push_back(wanted);
  int status = runProgram(command, log, files.folder());
  if (status == 0)
    return success();
  std::string complaint = firstComplaint(log, files.folder());
  errorStream() << "cannot link " << files.target() << ": " << *driver << " ended with status " << status
                << (complaint.empty() ? "" : ": ") << complaint << '\n';
  return failure();
}
