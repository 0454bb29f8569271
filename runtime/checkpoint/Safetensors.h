//===- Safetensors.h - The safetensors format ----------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A safetensors file is a 64-bit little-endian length, a JSON object of that length
// (name -> dtype, shape, data_offsets; "__metadata__" -> strings), and the tensors'
// bytes. Format: https://github.com/huggingface/safetensors#format. Files from
// outside are not trusted: every field is checked before it is used.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define DTCC_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "runtime/core/Elements.h"
#include "runtime/core/MappedFile.h"

#include <map>
#include <optional>
#include <vector>

namespace dtcc::rt {

struct SafetensorsEntry {
  std::string dtype; /* as in the file: "F32", "BF16", ... */
  std::vector<int64_t> shape;
  uint64_t offset; /* of the first byte, from the start of the file */
  uint64_t bytes;

  int64_t elements() const;
};

class SafetensorsFile {
public:
  /// Throws Error that names the file and what is wrong with it.
  explicit SafetensorsFile(const std::string &path) : SafetensorsFile(MappedFile(path)) {}
  /// Likewise, of a part of `file`: the bytes from `begin` to `end`.
  explicit SafetensorsFile(MappedFile file, uint64_t begin = 0, uint64_t end = UINT64_MAX);

  const std::string &path() const { return file.path(); }
  uint64_t bytes() const { return part.size(); }
  /// Bytes before the tensors.
  std::span<const std::byte> header() const { return part.first(headerLength); }
  const std::map<std::string, SafetensorsEntry> &entries() const { return table; }
  const std::map<std::string, std::string> &metadata() const { return strings; }
  /// Null if there is no such tensor.
  const SafetensorsEntry *find(const std::string &name) const;
  const std::byte *data(const SafetensorsEntry &entry) const { return file.bytes().data() + entry.offset; }
  /// The element type, or Error for one that the runtime does not read.
  FileType type(const std::string &name, const SafetensorsEntry &entry) const;
  /// Says that nobody reads bytes [begin, end) of the file again soon: the process no longer holds them in memory.
  void release(uint64_t begin, uint64_t end) const { file.release(begin, end); }

private:
  MappedFile file;
  std::span<const std::byte> part; /* of `file` that is in this format */
  size_t headerLength = 0;
  std::map<std::string, SafetensorsEntry> table;
  std::map<std::string, std::string> strings;
};

/// A file to be written: names and shapes first, then offsets are known, and the
/// ranks that write it agree on them.
class SafetensorsLayout {
public:
  /// Appends a tensor; returns its index.
  size_t add(const std::string &name, uint32_t dtype, std::vector<int64_t> shape);
  /// Likewise, with the format's own name of a type of any kind, and the tensor's size.
  size_t add(const std::string &name, const std::string &dtype, std::vector<int64_t> shape, uint64_t bytes);
  void setMetadata(const std::string &key, const std::string &value) { strings[key] = value; }
  /// Fixes the header; after it offset() and fileBytes() are valid.
  void finish();

  /// First byte of a tensor, from the start of the file.
  uint64_t offset(size_t index) const { return header.size() + rows[index].begin; }
  uint64_t fileBytes() const { return header.size() + total; }
  const std::string &headerBytes() const { return header; }

private:
  struct Row {
    std::string name, dtype;
    std::vector<int64_t> shape;
    uint64_t begin, end;
  };
  std::vector<Row> rows;
  std::map<std::string, std::string> strings;
  uint64_t total = 0;
  std::string header;
};

/// The format's name of an element type, "BF16".
const char *safetensorsName(FileType type);
/// The element type of that name, if the runtime reads it.
std::optional<FileType> fileTypeNamed(const std::string &name);

/// "[3, 4]"
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_SAFETENSORS_H
