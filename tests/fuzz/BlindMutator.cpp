//===- BlindMutator.cpp - Inputs made of others without libFuzzer -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/fuzz/BlindMutator.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

namespace dtcc::fuzz {

/// Numbers at which readers in text go wrong.
static constexpr const char *kNumbers[] = {
    "0", "-1", "1", "2147483647", "4294967296", "9223372036854775807", "1e999", "-0.0", "99999999999999999999"};

std::string_view BlindMutator::rangeOf(std::string_view text) {
  size_t first = below(text.size());
  return text.substr(first, 1 + below(64));
}

void BlindMutator::change(std::string &bytes, std::string_view other) {
  size_t at = below(bytes.size());
  switch (random() % 7) {
  case 0: // a bit
    if (!bytes.empty())
      bytes[at] ^= static_cast<char>(1 << random() % 8);
    break;
  case 1: // a byte
    if (!bytes.empty())
      bytes[at] = static_cast<char>(random());
    break;
  case 2:
    bytes.erase(at, 1 + below(32));
    break;
  case 3:
    bytes.insert(at, std::string(rangeOf(bytes)));
    break;
  case 4:
    bytes.insert(at, rangeOf(other));
    break;
  case 5: { // a range by one of the other input
    std::string_view range = rangeOf(other);
    bytes.replace(at, range.size(), range);
    break;
  }
  default: { // the next number in text
    auto isDigit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)); };
    auto begin = std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), isDigit);
    auto end = std::find_if_not(begin, bytes.end(), isDigit);
    bytes.replace(begin, end, kNumbers[random() % std::size(kNumbers)]);
  }
  }
}

std::string BlindMutator::mutate(std::string_view bytes, std::string_view other) {
  std::string changed(bytes);
  for (size_t changes = 1 + below(4); changes-- > 0;)
    change(changed, other);
  return changed;
}

} // namespace dtcc::fuzz
