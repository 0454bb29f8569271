//===- WrappedText.h - Words broken into lines ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last column of a table in a help text or --info, whose words go on below each other.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_CONSOLE_WRAPPEDTEXT_H
#define DTCC_RUNTIME_ABI_CONSOLE_WRAPPEDTEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace dtcc {

/// `line` and `words` with `between` between them, which ends with a space. A word that would pass `width` begins a new
/// line at `column`; one that is longer than a line stands alone on it. Ends with a line end.
inline std::string wrappedText(std::string line, const std::vector<std::string> &words, std::string_view between,
                               size_t column, size_t width) {
  std::string text;
  size_t begin = line.size();
  for (const std::string &word : words) {
    if (line.size() > begin && line.size() + between.size() + word.size() > width) {
      text += line;
      text += between.substr(0, between.size() - 1);
      text += '\n';
      line.assign(column, ' ');
      begin = column;
    }
    if (line.size() > begin)
      line += between;
    line += word;
  }
  return text + line + "\n";
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_CONSOLE_WRAPPEDTEXT_H
