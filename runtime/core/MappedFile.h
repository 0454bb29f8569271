//===- MappedFile.h - A file read through memory -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Input files (weights, data, tokens, checkpoints) are mapped, not read: a rank only
// touches the pages of its own part.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_MAPPEDFILE_H
#define DTCC_RUNTIME_CORE_MAPPEDFILE_H

#include "runtime/core/Signals.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace dtcc::rt {

class MappedFile {
public:
  /// Maps a whole file for reading. Throws Error that names the file, as `shown` if that is not empty.
  explicit MappedFile(const std::string &path, const std::string &shown = "");
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return name; }
  std::span<const std::byte> bytes() const { return {start, length}; }
  /// Fails if the file has become shorter. Beyond its new end the system reads the rest of a page as zeros, and ends
  /// the program only at the next page: what was read before is to be trusted after this check. Costs one stat.
  void checkLength() const;
  /// Gives the pages that lie inside bytes [begin, end) back; reading them again reads the file again.
  void release(uint64_t begin, uint64_t end) const;

private:
  std::string name;
  const std::byte *start = nullptr;
  size_t length = 0;
  uint64_t device = 0, node = 0; /* the file itself, whatever bears its name later */
  std::unique_ptr<FileMemory> memory;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_MAPPEDFILE_H
