//===- Machine.h - What a rank can do in a second
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first cost model: one kind of rank, one kind of link. All rates are those of one
// rank while all ranks work. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_COST_MACHINE_H
#define DTCC_PASSES_COST_MACHINE_H

#include <cstdint>

namespace dtcc::cost {

struct Machine {
  int64_t ranks = 1;
  /// Multiply-adds count as two.
  double flopsPerSecond = 0;
  /// Bytes read or written by kernels that do little else.
  double memoryBytesPerSecond = 0;
  /// Bytes that a rank sends to its neighbour in a ring.
  double linkBytesPerSecond = 0;
  /// Of starting a collective.
  double latencySeconds = 0;
  /// Memory that a rank may use; 0: not known.
  double memoryBytes = 0;

  /// `ranks` ranks that share `cores` cores of this processor and `memory` bytes.
  /// Measured on a server core with AVX-512: 100 GFLOP/s in f32 products, 10 GB/s; a
  /// shared-memory all-reduce moves 3 GB/s a rank. More ranks than cores share them.
  static Machine cpu(int64_t ranks, int64_t cores, double memory);

  double secondsForWork(double flops, double bytes) const;
  /// Of a collective in which each rank sends `bytes`; none for no bytes.
  double secondsForTransfer(double bytes) const;
};

} // namespace dtcc::cost

#endif // DTCC_PASSES_COST_MACHINE_H
