//===- SequenceExchange.h - How attention sees positions that cp splits
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exchange of an attention under context parallelism, with its spelling in options and shapes. A search tries all
// of them unless the user holds one (planner/placement/SequencePlacement.h carries them out). Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_SEQUENCEEXCHANGE_H
#define DTCC_PLANNER_PARALLELISM_SEQUENCEEXCHANGE_H

#include <array>
#include <optional>
#include <string_view>

namespace dtcc::plan {

/// Cheaper: each attention gathers or exchanges heads, whichever sends for less time.
enum class SequenceExchange { Cheaper, Gather, AllToAll, Ring };

inline constexpr std::array<std::string_view, 4> kSequenceExchangeNames = {"auto", "gather", "alltoall", "ring"};

inline constexpr std::string_view toString(SequenceExchange exchange) {
  return kSequenceExchangeNames[size_t(exchange)];
}

/// Nothing for other words.
inline constexpr std::optional<SequenceExchange> parseSequenceExchange(std::string_view text) {
  for (size_t i = 0; i < kSequenceExchangeNames.size(); ++i)
    if (text == kSequenceExchangeNames[i])
      return SequenceExchange(i);
  return std::nullopt;
}

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PARALLELISM_SEQUENCEEXCHANGE_H
