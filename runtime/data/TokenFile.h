//===- TokenFile.h - A file of token ids ------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One shard of a corpus, mapped: NumPy's `.npy`, llm.c's `.bin` (a header of 1,024 bytes), nanoGPT's `.bin` (16-bit
// ids and nothing else), or raw ids of a type that the user names.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_TOKENFILE_H
#define DTCC_RUNTIME_DATA_TOKENFILE_H

#include "runtime/core/Elements.h"
#include "runtime/core/MappedFile.h"
#include "runtime/data/Npy.h"

#include <optional>
#include <string>

namespace dtcc::rt {

class TokenFile {
public:
  /// Opens `path`, whose ids have `type`; without a type the file's format says it. Throws Error that names the file.
  TokenFile(const std::string &path, std::optional<FileType> type);

  const std::string &path() const { return name; }
  FileType type() const { return element; }
  /// Number of tokens.
  int64_t count() const { return tokens; }
  const std::byte *data() const { return first; }
  const MappedFile &mapped() const { return npy ? npy->mapped() : *raw; }
  std::span<const std::byte> bytes() const { return mapped().bytes(); }
  /// Whether the type was assumed: a `.bin` without llm.c's header, and without a type from the user.
  bool isAssumed() const { return assumed; }
  /// The type that the user gave to the bytes, unless it is the one that is assumed.
  std::optional<FileType> givenType() const { return given; }

private:
  void readNpy();
  void readRaw(FileType type);
  bool readLlmc();

  std::string name;
  std::optional<NpyFile> npy;
  std::optional<MappedFile> raw;
  FileType element = FileType::U16;
  const std::byte *first = nullptr;
  int64_t tokens = 0;
  std::optional<FileType> given;
  bool assumed = false;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_TOKENFILE_H
