//===- DeviceCounts.h - Numbers of devices that people rent
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fewest devices that hold a model are looked for among these. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_DEVICECOUNTS_H
#define DTCC_PLANNER_SEARCH_DEVICECOUNTS_H

#include <cstdint>
#include <vector>

namespace dtcc::plan {

/// Numbers of devices from `least` to `most`, ascending: powers of two within a node of `domain` devices, then whole
/// nodes, at first one by one, later doubled.
std::vector<int64_t> deviceCounts(double least, int64_t domain, int64_t most = int64_t(1) << 16, int64_t oneByOne = 64);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_DEVICECOUNTS_H
