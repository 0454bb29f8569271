//===- AmountText.cpp - Bytes and seconds for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cost/AmountText.h"
#include <cmath>
#include <cstdio>
#include <iterator>

namespace dtcc::cost {

static std::string write(double value, int digits, const char *unit) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f %s", digits, value, unit);
  return text;
}

/// Digits behind the point of three in all.
static int digitsOf(double value) { return value >= 100 ? 0 : value >= 10 ? 1 : 2; }

std::string formatBytes(double bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return write(bytes, unit == 0 ? 0 : digitsOf(bytes), units[unit]);
}

std::string formatSeconds(double seconds) {
  double size = std::fabs(seconds);
  if (size < 1e-3)
    return write(seconds * 1e6, digitsOf(size * 1e6), "us");
  if (size < 0.1)
    return write(seconds * 1e3, digitsOf(size * 1e3), "ms");
  return write(seconds, size < 1 ? 3 : digitsOf(size), "s");
}

std::string formatAmount(double amount) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", amount >= 100 ? 0 : 2, amount);
  std::string result = text;
  if (amount >= 100)
    for (size_t at = result.size(); at > 3;)
      result.insert(at -= 3, ",");
  return result;
}

std::string formatLarge(double amount) {
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

} // namespace dtcc::cost
