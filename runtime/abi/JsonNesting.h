//===- JsonNesting.h - How deep JSON from outside may nest ----- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JSON parsers call themselves for each level of lists and objects, so a small file of
// brackets exhausts their stack. Compiler and runtime ask this scan before they parse
// text from outside. It takes time by the length of the text, and no memory.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_JSONNESTING_H
#define DTCC_RUNTIME_ABI_JSONNESTING_H

#include <cstddef>
#include <string_view>

namespace dtcc {

/// Lists and objects may lie this deep inside each other.
inline constexpr int kMostJsonNesting = 64;

/// Offset of the first bracket that lies deeper than kMostJsonNesting; npos if none does. Brackets in strings do not
/// count.
inline size_t findJsonTooDeep(std::string_view text) {
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
  return std::string_view::npos;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_JSONNESTING_H
