//===- OutputFiles.h - What appears whole or not at all -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compilation writes several files, some of them temporary, some by other programs.
// All are made in a folder beside the output. What belongs together is renamed into
// place together at the end, and the folder goes away whatever happens: a failure, an
// interrupt, an error inside LLVM. Making the folder first also finds out before the
// long work that the output cannot be written.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_CONSOLE_OUTPUTFILES_H
#define DTCC_COMPILER_CONSOLE_OUTPUTFILES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>

namespace dtcc {

class OutputFiles {
public:
  /// `target`: the path of the file that is asked for, or "-": standard output, which
  /// needs no folder. Messages begin with the name of the tool.
  explicit OutputFiles(llvm::StringRef target, llvm::StringRef tool = "dtcc");
  ~OutputFiles();
  OutputFiles(const OutputFiles &) = delete;
  OutputFiles &operator=(const OutputFiles &) = delete;

  /// Refuses, with one message, a target (or TARGET + `suffix` for one of `suffixes`)
  /// that is no regular file, that is one of `inputs`, or that cannot be written; else
  /// makes the folder.
  mlir::LogicalResult open(llvm::ArrayRef<llvm::StringRef> inputs, llvm::ArrayRef<llvm::StringRef> suffixes = {});

  const std::string &target() const { return path; }
  /// The folder, with its slash.
  std::string folder() const { return scratch + "/"; }
  /// Path at which to write the part called `name`.
  std::string part(llvm::StringRef name) const { return folder() + name.str(); }

  /// Renames all parts to their paths. On an error, prints a message, renames none, and
  /// restores the former files.
  mlir::LogicalResult commit(llvm::ArrayRef<std::pair<llvm::StringRef, std::string>> parts);
  /// Writes the target as text by `print`, whole, or on standard output.
  mlir::LogicalResult writeText(llvm::function_ref<void(llvm::raw_ostream &)> print);

private:
  void removeLeftovers() const;
  mlir::LogicalResult cannotWrite(llvm::StringRef file, const llvm::Twine &why) const;
  std::string path, tool, scratch;
  int lock = -1; /* descriptor of the folder, locked */
};

/// From now on SIGINT and SIGTERM remove the folders of all OutputFiles, kill the program
/// that runProgram waits for, and end the process with `status`. To be called before any
/// thread is started.
void endOnInterrupt(int status);

/// Runs a program to its end with its messages in the file `log` and its temporary files in
/// `folder`. Returns its exit status; negative if it could not run or was killed.
int runProgram(llvm::ArrayRef<llvm::StringRef> command, llvm::StringRef log, llvm::StringRef folder);

} // namespace dtcc

#endif // DTCC_COMPILER_CONSOLE_OUTPUTFILES_H
