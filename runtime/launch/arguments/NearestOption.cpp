//===- NearestOption.cpp - The option that was meant ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/arguments/NearestOption.h"

#include <algorithm>
#include <vector>

namespace dtcc::rt {

/// Number of single-character edits between two words.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string nearestOption(const CLI::App &app, const std::string &name) {
  std::string best;
  size_t distance = 4;
  for (const CLI::Option *option : app.get_options())
    if (size_t edits = editDistance(option->get_name(), name); edits < distance) {
      distance = edits;
      best = option->get_name();
    }
  return best;
}

} // namespace dtcc::rt
