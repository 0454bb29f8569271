//===- SearchHints.h - What a user could change beside the plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search answers for all devices of a cluster and for the batch that is given. Hints say in one line each where
// another question has a much better answer: fewer devices, a batch that divides better, a mesh whose axis splits
// little. A hint costs a search of its own, which is run only where simple arithmetic says that it may be worth it.
// Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_SEARCHHINTS_H
#define DTCC_PLANNER_SEARCH_SEARCHHINTS_H

#include "planner/search/Explanation.h"

namespace dtcc::plan {

/// Numbers of devices, descending, that may be faster than all of them by the parts of the best plan: halves of halves,
/// and a node. The best plan's work alone must take less time on so few.
std::vector<int64_t> fewerDevices(const SearchReport &report);

/// The batch at most one part in a hundred larger that shares the greatest divisor with the number of devices; nothing
/// if none shares a greater one than the given batch.
std::optional<int64_t> neighbouringBatch(int64_t batch, int64_t devices);

/// The hints for a search whose mesh was free, or was given (`meshGiven`: devices and batch are then the user's
/// choice). The report has at least one plan.
std::vector<std::string> findHints(const SearchReport &report, Advisor &advisor, bool meshGiven);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_SEARCHHINTS_H
