//===- Validators.h - What values an option of a program takes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of values that CLI11 calls before it converts them. A check answers in the style of this project's messages;
// CLI11's own conversions never see a value that they would refuse, or take for another number.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_ARGUMENTS_VALIDATORS_H
#define DTCC_RUNTIME_LAUNCH_ARGUMENTS_VALIDATORS_H

#include "runtime/core/Error.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dtcc::rt {

/// The number that `text` is from its first character to its last.
template <typename Number> std::optional<Number> wholeText(const std::string &text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// A finite number of at least `least`.
template <typename Number> CLI::Validator atLeast(Number least) {
  auto check = [least](std::string &text) {
    std::optional<Number> value = wholeText<Number>(text);
    bool good = value && *value >= least && *value <= std::numeric_limits<Number>::max();
    const char *kind = std::is_integral_v<Number> ? "a whole number" : "a number";
    if constexpr (std::is_integral_v<Number>)
      text = good ? std::to_string(*value) : text; // CLI11 reads "010" as octal
    return good ? std::string() : message("must be ", kind, " of at least ", least, ", got: ", text);
  };
  return CLI::Validator(check, std::is_integral_v<Number> ? "N" : "X");
}

/// A whole number from `least` to `most`.
CLI::Validator between(int64_t least, int64_t most);

/// A number between 0 and 1, without both.
CLI::Validator fraction();

/// Bytes, as 500000, 200KB, 5GB or 2GiB; the text becomes their number.
CLI::Validator bytes();

/// The words that an option may be, in the order in which a message lists them, and what each stands for.
template <typename Value> using Words = std::vector<std::pair<std::string, Value>>;

/// A validator takes one of these words and replaces it by its value's number, as CLI11 reads flags and enumerators.
template <typename Value> CLI::Validator oneOf(const Words<Value> &words) {
  auto replace = [words](std::string &text) {
    std::string list;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i].first == text) {
        text = std::to_string(static_cast<int>(words[i].second));
        return std::string();
      }
      list += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i].first;
    }
    return message("must be ", list, ", got: ", text);
  };
  return CLI::Validator(replace, "");
}

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_ARGUMENTS_VALIDATORS_H
