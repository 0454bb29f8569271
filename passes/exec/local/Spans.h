//===- Spans.h - Ranges of a block, by where they begin
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each span is a range of op numbers, and no two begin at the same number. A tree over the numbers holds the largest
// end below each node, so that both functions take time by the logarithm of the numbers, however many spans there are.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_SPANS_H
#define DTCC_PASSES_EXEC_LOCAL_SPANS_H

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <optional>
#include <vector>

namespace dtcc::exec {

class Spans {
public:
  /// Spans of numbers in [1, count).
  explicit Spans(size_t count) : leaves(llvm::PowerOf2Ceil(count)), ends(2 * leaves) {}

  /// The span that begins at `first` ends at `last`; 0: no span begins there.
  void set(size_t first, unsigned last) {
    size_t node = leaves + first;
    ends[node] = last;
    while (node /= 2)
      ends[node] = std::max(ends[2 * node], ends[2 * node + 1]);
  }

  /// The first number of the span that begins earliest of those that begin before `point` and end at it or behind it.
  std::optional<unsigned> lowestAcross(unsigned point) const {
    if (ends[1] < point)
      return std::nullopt;
    size_t node = 1;
    while (node < leaves)
      node = ends[2 * node] >= point ? 2 * node : 2 * node + 1;
    size_t first = node - leaves;
    return first < point ? std::optional(unsigned(first)) : std::nullopt;
  }

private:
  size_t leaves;
  std::vector<unsigned> ends;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_SPANS_H
