//===- FormatText.h - Text formatted as by printf -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_FORMATTEXT_H
#define DTCC_RUNTIME_CORE_FORMATTEXT_H

#include <cstdio>
#include <string>

namespace dtcc::rt {

/// Formats as printf does, at most 160 characters.
template <typename... Args> std::string formatText(const char *text, Args... args) {
  char buffer[160];
  std::snprintf(buffer, sizeof(buffer), text, args...);
  return buffer;
}

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_FORMATTEXT_H
