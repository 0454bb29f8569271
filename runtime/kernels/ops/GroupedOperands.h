//===- GroupedOperands.h - A command of a grouped product, checked -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks and sizes of grouped products, shared by every device that runs them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_GROUPEDOPERANDS_H
#define DTCC_RUNTIME_KERNELS_OPS_GROUPEDOPERANDS_H

#include "runtime/kernels/GroupedMatmul.h"
#include "runtime/kernels/ops/CheckedOperands.h"

namespace dtcc::rt {

/// Operands of grouped_matmul or grouped_matmul_grad: lhs, rhs, ids, out, and the workspace of a processor. Rejects
/// what LibraryOps.def does not allow.
struct GroupedOperands {
  GroupedOperands(const CheckedOperands &operands, bool gradient);
  /// The workspace must have what a processor's kernels need.
  void expectWorkspace(const CheckedOperands &operands, bool gradient) const;

  GroupedProblem p;
  int64_t communicator = -1;
  Accumulation accumulate = Accumulation::Never;

private:
  GroupedRows rowsOf(const CheckedOperands &operands, const dtcc_view &view, const char *name) const;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_GROUPEDOPERANDS_H
