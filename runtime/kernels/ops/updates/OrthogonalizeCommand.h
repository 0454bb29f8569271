//===- OrthogonalizeCommand.h - Commands of Muon's matrices, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_UPDATES_ORTHOGONALIZECOMMAND_H
#define DTCC_RUNTIME_KERNELS_OPS_UPDATES_ORTHOGONALIZECOMMAND_H

#include "runtime/abi/OrthogonalizeWorkspace.h"
#include "runtime/image/Block.h"
#include "runtime/kernels/Orthogonalization.h"
#include "runtime/kernels/ops/CheckedOperands.h"

#include <vector>

namespace dtcc::rt {

/// Operands and attributes of `orthogonalize`, checked. A rank orthogonalizes the matrices of which its share has
/// cells: shares of ZeRO divide the work.
struct OrthogonalizeCommand {
  /// A matrix of which the share has cells.
  struct Matrix {
    int64_t rows, columns;
    int64_t begin;            // of a rank's block of it in the bucket
    std::vector<Block> parts; // by the members, and this rank's last
  };

  OrthogonalizeCommand(const CheckedOperands &operands, const Rank &rank);
  /// Bytes that the largest of the matrices takes.
  int64_t workspaceBytes(OrthogonalizeOn device) const;
  /// Fails unless the command has a workspace that is large enough.
  void expectWorkspace(const CheckedOperands &operands, OrthogonalizeOn device) const;

  int64_t size = 0;    // cells of the share
  int64_t offset = 0;  // of the share in the bucket
  int64_t length = 0;  // cells of the bucket
  int64_t members = 1; // ranks whose buckets stand behind each other in the operand `whole`
  OrthogonalizeOptions options;
  std::vector<Matrix> matrices;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_UPDATES_ORTHOGONALIZECOMMAND_H
