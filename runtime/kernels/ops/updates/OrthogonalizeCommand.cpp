//===- OrthogonalizeCommand.cpp - Commands of Muon's matrices, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/updates/OrthogonalizeCommand.h"

#include "runtime/kernels/ops/updates/UpdateRanges.h"

#include <algorithm>

namespace dtcc::rt {

OrthogonalizeCommand::OrthogonalizeCommand(const CheckedOperands &operands, const Rank &rank) {
  operands.expect(2, 9);
  size = operands.dense(1, "direction", -1).sizes[0];
  const int64_t bucket = operands.integer(0), sharded = operands.communicator(2);
  const BucketSegments segments = bucketSegments(operands, rank, bucket, operands.communicator(1), size);
  offset = rank.groupIndex(operands.communicator(1)) * size;
  length = rank.image.buckets()[static_cast<size_t>(bucket)].length;
  const Mesh &mesh = rank.image.mesh();
  const std::vector<int64_t> ranks =
      sharded < 0 ? std::vector<int64_t>{rank.abi.rank}
                  : mesh.members(rank.image.communicators()[static_cast<size_t>(sharded)], rank.abi.rank);
  members = static_cast<int64_t>(ranks.size());
  operands.dense(0, "whole", length * members);
  options = {operands.integer(3), operands.real(4), operands.real(5),
             operands.real(6),    operands.real(7), operands.flag(8)};
  auto blockOf = [&](const dtcc_state &state, int64_t member) {
    const std::vector<int64_t> coordinates = mesh.coordinates(member, 0);
    return makeBlock(mesh, state.dims, static_cast<int>(state.rank), coordinates.data(), nullptr);
  };
  for (const TensorRange &range : segments.ranges) {
    const dtcc_segment &segment = *segments.all[static_cast<size_t>(range.tensor)];
    const dtcc_state &state = rank.image.states()[segment.state];
    if (state.saved_rank != 2)
      operands.reject("states must be matrices, got one of ", state.saved_rank, " dimensions");
    Matrix &matrix = matrices.emplace_back(state.saved_sizes[0], state.saved_sizes[1], segment.offset);
    for (int64_t member : ranks)
      matrix.parts.push_back(blockOf(state, member));
    matrix.parts.push_back(blockOf(state, rank.abi.rank));
  }
}

int64_t OrthogonalizeCommand::workspaceBytes(OrthogonalizeOn device) const {
  int64_t most = 0;
  for (const Matrix &matrix : matrices)
    most = std::max(most, OrthogonalizeLayout(matrix.rows, matrix.columns, device).bytes);
  return most;
}

void OrthogonalizeCommand::expectWorkspace(const CheckedOperands &operands, OrthogonalizeOn device) const {
  const int64_t most = workspaceBytes(device);
  const dtcc_view *workspace = operands.operandCount() > 2 ? &operands.operand(2) : nullptr;
  if (int64_t bytes = workspace ? elementCount(*workspace) * dtcc_dtype_size(workspace->dtype) : 0; bytes < most)
    operands.reject("the workspace must have ", most, " bytes, got: ", bytes);
}

} // namespace dtcc::rt
