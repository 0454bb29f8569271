//===- Tokens.cpp - The words of PTX
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ptx/Tokens.h"
#include "tests/emulator/ptx/Error.h"
#include <cctype>

namespace dtcc::emulator {

bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

std::vector<Token> split(std::string_view text) {
  std::vector<Token> tokens;
  unsigned line = 1;
  auto wrong = [&](const char *what) { throw PtxError(Fault::Text, "PTX line " + std::to_string(line) + ": " + what); };
  // A driver takes a text with its terminating zero.
  text = text.substr(0, text.find('\0'));
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    if (c == '\n') {
      ++line;
      ++i;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      size_t end = text.find("*/", i);
      if (end == text.npos)
        wrong("a comment without an end");
      for (; i < end + 2; ++i)
        line += text[i] == '\n';
    } else if (c == '"') {
      size_t end = text.find('"', i + 1);
      if (end == text.npos)
        wrong("a string without an end");
      tokens.push_back({text.substr(i, end + 1 - i), line});
      i = end + 1;
    } else if (isWordCharacter(c)) {
      size_t end = i;
      while (end < text.size() && (isWordCharacter(text[end]) || text.substr(end, 2) == "::"))
        end += text[end] == ':' ? 2 : 1;
      tokens.push_back({text.substr(i, end - i), line});
      i = end;
    } else {
      tokens.push_back({text.substr(i, 1), line});
      ++i;
    }
  }
  tokens.push_back({{}, line});
  return tokens;
}

} // namespace dtcc::emulator
