//===- NearestName.h - What a misspelt name should have been
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages of the tools and of programs propose a name by the same rule. Free of LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_CONSOLE_NEARESTNAME_H
#define DTCC_RUNTIME_ABI_CONSOLE_NEARESTNAME_H

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace dtcc {

/// Letters to insert, remove or replace until `a` is `b` (Levenshtein 1966), upper and lower case being the same.
inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      bool differ =
          std::tolower(static_cast<unsigned char>(a[i - 1])) != std::tolower(static_cast<unsigned char>(b[j - 1]));
      size_t replaced = diagonal + (differ ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// The known name nearest to `name` by edits, or empty if none is near: within two edits, or a third of the name, and
/// not with every letter another.
inline std::string nearestName(std::string_view name, const std::vector<std::string> &known) {
  std::string best;
  size_t distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string &candidate : known)
    if (size_t edits = editDistance(name, candidate);
        edits < distance && edits < std::max(name.size(), candidate.size())) {
      distance = edits;
      best = candidate;
    }
  return best;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_CONSOLE_NEARESTNAME_H
