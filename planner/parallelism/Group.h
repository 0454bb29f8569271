//===- Group.h - Ranks that communicate
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_GROUP_H
#define DTCC_PLANNER_PARALLELISM_GROUP_H

#include <cstdint>

namespace dtcc::cost {

/// Ranks that communicate: `ranks` of them, `stride` apart in the numbering in which the
/// ranks of a node are neighbours.
struct Group {
  int64_t ranks = 1, stride = 1;
};

} // namespace dtcc::cost

#endif // DTCC_PLANNER_PARALLELISM_GROUP_H
