//===- AmountText.h - Amounts as people read them -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tools and programs write an amount in one way. Free of LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_CONSOLE_AMOUNTTEXT_H
#define DTCC_RUNTIME_ABI_CONSOLE_AMOUNTTEXT_H

#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>

namespace dtcc {

/// "12.3 GiB" of 12.345, 1 digit behind the point and "GiB".
inline std::string formatNumber(double value, int digits, const char *unit) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f %s", digits, value, unit);
  return text;
}

/// Digits behind the point of three in all.
inline int digitsBehindPoint(double value) { return value >= 100 ? 0 : value >= 10 ? 1 : 2; }

/// "512 B", "1.50 KiB", "32.5 GiB": three digits, in the largest unit that leaves a number of 1 or more.
inline std::string formatBytes(double bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return formatNumber(bytes, unit == 0 ? 0 : digitsBehindPoint(bytes), units[unit]);
}

/// "12.3 us", "3.10 ms", "0.400 s", "71.5 s": three digits.
inline std::string formatSeconds(double seconds) {
  double size = std::fabs(seconds);
  if (size < 1e-3)
    return formatNumber(seconds * 1e6, digitsBehindPoint(size * 1e6), "us");
  if (size < 0.1)
    return formatNumber(seconds * 1e3, digitsBehindPoint(size * 1e3), "ms");
  return formatNumber(seconds, size < 1 ? 3 : digitsBehindPoint(size), "s");
}

/// "26,440", "6.67": whole from 100 on, thousands by commas.
inline std::string formatAmount(double amount) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", amount >= 100 ? 0 : 2, amount);
  std::string result = text;
  if (amount >= 100)
    for (size_t at = result.size(); at > 3;)
      result.insert(at -= 3, ",");
  return result;
}

/// "15.6 trillion", "500 million", "26,440": three digits and a word from a million on.
inline std::string formatLarge(double amount) {
  struct Word {
    double factor;
    const char *name;
  };
  static constexpr Word words[] = {{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}};
  for (const Word &word : words) {
    if (amount < word.factor)
      continue;
    char text[64];
    std::snprintf(text, sizeof(text), amount < 1e3 * word.factor ? "%.3g" : "%.0f", amount / word.factor);
    return std::string(text) + " " + word.name;
  }
  return formatAmount(amount);
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_CONSOLE_AMOUNTTEXT_H
