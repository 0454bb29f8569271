//===- NumberText.h - Numbers in the digits that they have ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages and files of options show numbers as users write them. Free of LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_CONSOLE_NUMBERTEXT_H
#define DTCC_RUNTIME_ABI_CONSOLE_NUMBERTEXT_H

#include <charconv>
#include <string>

namespace dtcc {

/// "0.001", "1e-06", "7": the shortest digits from which the same number is read.
template <typename Number> std::string numberText(Number number) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_CONSOLE_NUMBERTEXT_H
