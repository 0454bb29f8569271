//===- Placement.h - The axes of the factors of one op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_PLACEMENT_H
#define DTCC_PASSES_SPMD_LAYOUT_PLACEMENT_H

#include "dialects/interfaces/OpInterfaces.h"
#include "dialects/spmd/Spmd.h"

namespace dtcc::spmd {

/// The placement of one op.
struct Placement {
  /// Per factor, outermost first.
  std::vector<Axes> factors;
  /// Partial sums that arrive in the operands of linear set `linearSet`.
  Axes partial;
  int64_t linearSet = -1;

  /// Axes given to factors.
  Axes used() const;
  /// Gives a factor those of the axes that no factor has.
  void give(size_t factor, const Axes &axes);
};

/// The layouts without padding.
struct OpLayouts {
  std::vector<Layout> operands, results;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PLACEMENT_H
