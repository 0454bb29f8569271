//===- Target.h - What all fuzz targets have -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is a program that reads inputs and must not crash, hang or leak, whatever the bytes are. Built by the `fuzz`
// preset it is linked with libFuzzer and makes its own inputs; else with Replay.cpp, which gives it those of a folder.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_FUZZ_TARGET_H
#define DTCC_TESTS_FUZZ_TARGET_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Tests one input. libFuzzer calls this function.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace dtcc::fuzz {

inline std::string_view textOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// A folder in memory that gives readers of files their input. It is removed at the end of the process.
class Folder {
public:
  Folder();
  ~Folder();
  /// Writes the file `name` anew; returns its path.
  std::string write(const std::string &name, std::string_view bytes) const;

private:
  std::string path;
};

/// Inputs that are several files: each is a length of four bytes, little-endian, and as many bytes. The last may be cut
/// off.
std::vector<std::string_view> splitParts(std::string_view bytes);
std::string joinParts(const std::vector<std::string> &parts);

} // namespace dtcc::fuzz

#endif // DTCC_TESTS_FUZZ_TARGET_H
