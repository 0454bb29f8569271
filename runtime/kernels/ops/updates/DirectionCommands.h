//===- DirectionCommands.h - Commands of steps along directions, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_UPDATES_DIRECTIONCOMMANDS_H
#define DTCC_RUNTIME_KERNELS_OPS_UPDATES_DIRECTIONCOMMANDS_H

#include "runtime/kernels/ops/updates/UpdateRanges.h"

#include <optional>
#include <vector>

namespace dtcc::rt {

/// Operands of `tensor_squares`, checked.
struct TensorSquaresCommand {
  TensorSquaresCommand(const CheckedOperands &operands, const Rank &rank);
  int64_t tensors() const { return static_cast<int64_t>(segments.all.size()); }

  BucketSegments segments;
};

/// Operands and attributes of `apply_direction`, checked.
struct ApplyDirectionCommand {
  ApplyDirectionCommand(const CheckedOperands &operands, const Rank &rank);

  int64_t size = 0; // cells of the share
  int64_t kind;     // dtcc_direction_size
  size_t parameter; // position of p among the operands; a copy stands behind it
  std::optional<dtcc_dtype> copyType;
  BucketSegments segments;
  TrustOptions trust;        // of steps by trust
  RmsOptions rms;            // of steps by rms
  std::vector<double> cells; // of the whole tensor of each range, of steps by rms
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_UPDATES_DIRECTIONCOMMANDS_H
