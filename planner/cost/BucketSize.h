//===- BucketSize.h - How much to reduce at a time
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_BUCKETSIZE_H
#define DTCC_PLANNER_COST_BUCKETSIZE_H

namespace dtcc::cost {

/// Bytes whose transfer takes as long as starting it: latency times bandwidth. Those of
/// two threads' all-reduce by tests/benchmarks/collectives/compare.py on two server cores:
/// 1.1 us for 4 KiB, 13 GB/s for 64 MiB.
constexpr double kLatencyBytes = 15e3;

/// The size of a bucket that costs least where `total` bytes of gradients are reduced while
/// the backward pass makes them. Of n buckets the last has nothing to hide behind, and each
/// costs its start: total / (n * bandwidth) + n * latency is least where a bucket holds
/// sqrt(total * latencyBytes). Whatever else a bucket costs counts as bytes that move in that time: with Muon, a matrix
/// that several ranks orthogonalize.
double bucketBytes(double total, double latencyBytes);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_BUCKETSIZE_H
