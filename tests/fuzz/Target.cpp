//===- Target.cpp - What all fuzz targets have -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/fuzz/Target.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace dtcc::fuzz {

Folder::Folder() {
  fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
  path = parent / "dtcc-fuzz-XXXXXX";
  if (!mkdtemp(path.data()))
    std::abort();
}

Folder::~Folder() {
  std::error_code error;
  fs::remove_all(path, error);
}

std::string Folder::write(const std::string &name, std::string_view bytes) const {
  std::string file = path + "/" + name;
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file;
}

std::vector<std::string_view> splitParts(std::string_view bytes) {
  std::vector<std::string_view> parts;
  while (bytes.size() >= 4) {
    uint32_t length;
    std::memcpy(&length, bytes.data(), 4);
    bytes.remove_prefix(4);
    parts.push_back(bytes.substr(0, length));
    bytes.remove_prefix(parts.back().size());
  }
  return parts;
}

std::string joinParts(const std::vector<std::string> &parts) {
  std::string bytes;
  for (const std::string &part : parts) {
    auto length = static_cast<uint32_t>(part.size());
    bytes.append(reinterpret_cast<const char *>(&length), 4);
    bytes += part;
  }
  return bytes;
}

} // namespace dtcc::fuzz
