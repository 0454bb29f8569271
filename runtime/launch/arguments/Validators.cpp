//===- Validators.cpp - What values an option of a program takes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/arguments/Validators.h"

#include <algorithm>
#include <cctype>

namespace dtcc::rt {
namespace {

/// The bytes that a unit stands for: "", "b", or one of k, m, g and t with "b" (thousands) or "ib" (1,024s) behind it,
/// in letters of any case. The "b" may be missing. 0 for another word.
uint64_t bytesOf(std::string unit) {
  for (char &letter : unit)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (!unit.empty() && unit.back() == 'b')
    unit.pop_back();
  const bool isBinary = unit.size() == 2 && unit[1] == 'i';
  if (unit.empty())
    return 1;
  const size_t power = std::string("kmgt").find(unit[0]);
  if (power == std::string::npos || unit.size() > (isBinary ? 2 : 1))
    return 0;
  uint64_t result = 1;
  for (size_t i = 0; i <= power; ++i)
    result *= isBinary ? 1024 : 1000;
  return result;
}

/// The bytes of "200KB"; none if it is no such text, or less than a byte.
std::optional<uint64_t> parseBytes(const std::string &text) {
  const size_t letters = std::min(text.find_first_not_of("0123456789"), text.size());
  std::optional<uint64_t> count = wholeText<uint64_t>(text.substr(0, letters));
  const uint64_t unit = bytesOf(text.substr(letters));
  if (!count || *count == 0 || unit == 0 || *count > std::numeric_limits<uint64_t>::max() / unit)
    return std::nullopt;
  return *count * unit;
}

} // namespace

CLI::Validator between(int64_t least, int64_t most) {
  auto check = [least, most](std::string &text) {
    std::optional<int64_t> value = wholeText<int64_t>(text);
    bool good = value && *value >= least && *value <= most;
    text = good ? std::to_string(*value) : text;
    return good ? std::string() : message("must be a whole number from ", least, " to ", most, ", got: ", text);
  };
  return CLI::Validator(check, "N");
}

CLI::Validator fraction() {
  auto check = [](std::string &text) {
    std::optional<double> value = wholeText<double>(text);
    bool good = value && *value > 0 && *value < 1;
    return good ? std::string() : message("must be a number between 0 and 1, got: ", text);
  };
  return CLI::Validator(check, "X");
}

CLI::Validator bytes() {
  auto replace = [](std::string &text) {
    std::optional<uint64_t> value = parseBytes(text);
    if (!value)
      return message("must be a number of bytes of at least 1, as 500000, 200KB, 5GB or 2GiB, got: ", text);
    text = std::to_string(*value);
    return std::string();
  };
  return CLI::Validator(replace, "N");
}

} // namespace dtcc::rt
