//===- Tokens.h - The words of PTX ----------------------------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A word holds its points ("ld.global.b32", ".reg", "%tid.x", "0f3F800000"); all else
// is one character. Comments and blanks are gone, strings keep their quotes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_PTX_TOKENS_H
#define DTCC_TESTS_EMULATOR_PTX_TOKENS_H

#include <string_view>
#include <vector>

namespace dtcc::emulator {

struct Token {
  std::string_view text; ///< empty at the end
  unsigned line;
};

/// Points into `text`, which must live as long.
std::vector<Token> split(std::string_view text);
bool isWordCharacter(char c);

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_PTX_TOKENS_H
