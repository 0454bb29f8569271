//===- WholeFile.h - A file that appears whole or not at all -- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files are written under a temporary name and renamed when complete: a reader never
// sees half of one, and an existing file stands until its successor is whole. Space
// is taken before the first byte is written, so a full disk is found at once.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_WHOLEFILE_H
#define DTCC_RUNTIME_CHECKPOINT_WHOLEFILE_H

#include "runtime/core/Signals.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dtcc::rt {

/// A file of known size, mapped for writing. Several processes may map one file.
class WholeFile {
public:
  /// Creates `path` with `bytes` bytes, or opens the one that another rank created.
  /// Throws Status::Write that names the file.
  WholeFile(const std::string &path, uint64_t bytes, bool create);
  ~WholeFile();
  WholeFile(const WholeFile &) = delete;
  WholeFile &operator=(const WholeFile &) = delete;

  std::byte *data() const { return start; }
  /// Waits until the contents are on the disk.
  void sync();

private:
  std::string path;
  int file = -1;
  std::byte *start = nullptr;
  uint64_t length;
  std::unique_ptr<FileMemory> memory;
};

/// Makes renames in a folder last, where the file system can.
void syncFolder(const std::string &folder);

/// Renames, and makes the rename last: the folder is synced. Throws Status::Write.
void renameDurably(const std::string &from, const std::string &to);

/// Writes a small file whole: temporary name, sync, rename.
void writeWhole(const std::string &path, std::string_view contents);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_WHOLEFILE_H
