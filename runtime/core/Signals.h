//===- Signals.h - Ending cleanly on a signal ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SIGINT, SIGTERM, and what schedulers and terminals send before they kill (SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGPIPE)
// set a flag that the ranks read after each step; a second SIGINT or SIGTERM kills as usual. The flag and the table of
// mapped files are the runtime's only globals: a handler can reach nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_SIGNALS_H
#define DTCC_RUNTIME_CORE_SIGNALS_H

#include <cstddef>
#include <memory>
#include <string>

namespace dtcc::rt {

/// Installs the handlers; also those that explain an illegal instruction, and a mapped file that was cut short. A file
/// that reaches the limit of its size is an error of the call that writes it, no signal. A SIGHUP that is ignored
/// (nohup) stays so.
void installSignalHandlers();

/// True after the first signal that asks the run to end.
bool interruptRequested();

/// Memory that is a file, while this lives. An access to a page whose bytes the file has lost, or whose disk fails,
/// raises SIGBUS: then the process ends with a message that names the file.
class FileMemory {
public:
  FileMemory(const void *start, size_t bytes, const std::string &path, bool written);
  ~FileMemory();
  FileMemory(const FileMemory &) = delete;
  FileMemory &operator=(const FileMemory &) = delete;

  struct Row;

private:
  std::unique_ptr<Row> row;
  size_t place; /* in the table */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_SIGNALS_H
