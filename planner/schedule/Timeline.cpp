//===- Timeline.cpp - What the ranks of a pipeline do in a step, and when
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Timeline.h"

namespace dtcc::cost {

std::string_view toString(TimelineStream stream) {
  static constexpr std::string_view names[] = {"compute", "collectives", "messages", "copies"};
  return names[static_cast<int>(stream)];
}

std::string TimelineEvent::name() const {
  /// Text of an event, one row per TimelineWork: the word, and whether a micro-batch or a unit follows it.
  struct Row {
    std::string_view word;
    bool microbatch, unit;
  };
  static constexpr Row rows[] = {{"F", true, false},       {"B", true, false},       {"I", true, false},
                                 {"W", true, false},       {"send F", true, false},  {"send B", true, false},
                                 {"gather", false, true},  {"scatter", false, true}, {"reduce", false, false},
                                 {"update", false, false}, {"host", false, false}};
  const Row &row = rows[static_cast<int>(work)];
  std::string name(row.word);
  if (row.microbatch)
    name += std::to_string(microbatch);
  if (row.unit && unit >= 0)
    name += " " + std::to_string(unit);
  return name;
}

} // namespace dtcc::cost
