//===- DirectionCommands.cpp - Commands of steps along directions, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/updates/DirectionCommands.h"

namespace dtcc::rt {

TensorSquaresCommand::TensorSquaresCommand(const CheckedOperands &operands, const Rank &rank) {
  operands.expect(3, 2);
  const int64_t size = operands.dense(0, "p", -1).sizes[0];
  operands.dense(1, "direction", size);
  segments = bucketSegments(operands, rank, operands.integer(0), operands.communicator(1), size);
  operands.dense(2, "squares", 2 * tensors());
}

ApplyDirectionCommand::ApplyDirectionCommand(const CheckedOperands &operands, const Rank &rank)
    : kind(operands.attributeCount() == 5 ? operands.integer(2) : -1), parameter(kind == DTCC_DIRECTION_PLAIN ? 4 : 5) {
  operands.expect(parameter + 1, 5);
  if (kind < DTCC_DIRECTION_PLAIN || kind > DTCC_DIRECTION_BY_RMS)
    operands.reject("size must be plain, by trust or by rms, got: ", kind);
  size = operands.dense(0, "direction", -1).sizes[0];
  operands.scalar(1, "scale");
  operands.scalar(2, "lr");
  operands.scalar(3, "step", DTCC_I64);
  segments = bucketSegments(operands, rank, operands.integer(0), operands.communicator(1), size);
  if (kind != DTCC_DIRECTION_PLAIN)
    operands.dense(4, "squares", 2 * static_cast<int64_t>(segments.all.size()));
  operands.dense(parameter, "p", size);
  copyType = operands.halfCopy(parameter + 1, size);
  if (kind != DTCC_DIRECTION_BY_RMS) {
    trust = {operands.flag(3), operands.flag(4)};
    return;
  }
  rms = {operands.real(3), operands.real(4)};
  for (const TensorRange &range : segments.ranges)
    cells.push_back(static_cast<double>(factorsOf(*segments.all[static_cast<size_t>(range.tensor)], rank).cells()));
}

} // namespace dtcc::rt
