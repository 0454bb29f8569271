//===- ParseJson.cpp - JSON that anybody may have written
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/interfaces/ParseJson.h"

namespace dtcc {

/// Where brackets first lie deeper than the parser may go; npos: nowhere.
static size_t findTooDeep(llvm::StringRef text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++depth > kMostJsonNesting)
      return i;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
  }
  return llvm::StringRef::npos;
}

llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  size_t deep = findTooDeep(text);
  if (deep == llvm::StringRef::npos)
    return llvm::json::parse(text);
  llvm::StringRef before = text.take_front(deep);
  size_t line = before.count('\n') + 1, column = deep - (before.rfind('\n') + 1) + 1;
  return llvm::createStringError("[%zu:%zu, byte=%zu]: lists and objects must lie at most %d deep", line, column, deep,
                                 kMostJsonNesting);
}

} // namespace dtcc
