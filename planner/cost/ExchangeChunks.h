//===- ExchangeChunks.h - Into how many parts a product and its exchange are cut
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product whose result is summed over ranks, or whose operand is gathered from them, can be made some rows at a time:
// one part travels while the next is computed (Wang et al. 2023, "Overlap Communication with Dependent Computation via
// Decomposition in Large Deep Learning Models", ASPLOS). Parts cost time of their own: smaller products fill a device
// worse, and every exchange starts anew. What is best is decided here for those who cut (passes/exec) and for those who
// forecast the time. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_EXCHANGECHUNKS_H
#define DTCC_PLANNER_COST_EXCHANGECHUNKS_H

#include "planner/cost/Collectives.h"
#include "planner/cost/Kernels.h"

namespace dtcc::cost {

/// Products of equal rows that read one gathered value, or one product whose result is summed; and the exchange.
struct ChunkedProducts {
  std::vector<Gemm> products;
  Transfer exchange;
  /// Rows that parts share out: equally, or not at all.
  int64_t rows = 1;
  /// Seconds that parts cost besides: a bias that the library adds to a whole product is added by a kernel to parts,
  /// and parts that are not ranges of the whole are copied.
  double apart = 0;
  /// Seconds of the copies that bring pieces of the whole exchange together which are no ranges of memory. Parts of one
  /// row have ranges.
  double copies = 0;
};

struct ExchangeChunks {
  int64_t parts = 1;
  /// Seconds that the parts save against the whole; at least 0.
  double saved = 0;
};

/// The number of parts, of 1 to 8, that takes least; 1 where no number saves anything.
ExchangeChunks chunkExchange(const ChunkedProducts &given, const Kernels &kernels, const Collectives &collectives,
                             const Constants &constants);
/// Seconds that parts save of a product and an exchange whose way is not known (Work.h).
double savedByChunks(const ChunkedExchange &given, const Kernels &kernels, const Constants &constants);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_EXCHANGECHUNKS_H
