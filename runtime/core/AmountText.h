//===- AmountText.h - Numbers as people read them ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_AMOUNTTEXT_H
#define DTCC_RUNTIME_CORE_AMOUNTTEXT_H

#include <cstdio>
#include <string>

namespace dtcc::rt {

/// Formats as printf does, at most 160 characters.
template <typename... Args> std::string formatText(const char *text, Args... args) {
  char buffer[160];
  std::snprintf(buffer, sizeof(buffer), text, args...);
  return buffer;
}

/// "1.23 GiB"
std::string bytesText(double bytes);

/// "1.23 s", "4.56 ms", "7.89 us"
std::string secondsText(double seconds);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_AMOUNTTEXT_H
