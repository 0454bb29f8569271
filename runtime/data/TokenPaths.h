//===- TokenPaths.h - Files that --tokens names ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--tokens` is a list of items, separated by commas:
//
//   FILE, FOLDER or GLOB [:u8 | :u16 | :u32] [@WEIGHT]
//
// Items without weights are one part, in their order. With weights each item is a part of a mixture.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_TOKENPATHS_H
#define DTCC_RUNTIME_DATA_TOKENPATHS_H

#include "runtime/core/Elements.h"

#include <optional>
#include <string>
#include <vector>

namespace dtcc::rt {

struct TokenPath {
  std::string path;
  std::optional<FileType> type; /* as the user says; else the file does */
};

struct TokenPart {
  std::string item;  /* as the user wrote it, for messages */
  double weight = 0; /* 0: there are no weights */
  std::vector<TokenPath> files;
};

/// The parts of `spec`, the text of the option `option`. The files of globs and folders are sorted by their bytes.
/// Throws Error for an item without files and for wrong weights.
std::vector<TokenPart> findTokens(const std::string &option, const std::string &spec);

/// The files whose names match a pattern of the shell; none, if no name does.
std::vector<std::string> filesOfGlob(const std::string &pattern);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_TOKENPATHS_H
