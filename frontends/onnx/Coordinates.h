//===- Coordinates.h - Which cells indices name
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathers and scatters of one cell or of slices read their indices the same way.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_COORDINATES_H
#define DTCC_FRONTENDS_ONNX_COORDINATES_H

#include "frontends/onnx/Rules.h"

namespace dtcc::onnx {

/// Indices counted from the end become counted from the start. `checked`: values that are not known now come from an
/// input whose bounds the runtime checks.
Tensor fromStart(Emitter &emit, const Tensor &indices, int64_t size, bool checked = false);

/// The coordinates of the places in operand 0 that the last dimension of operand 1 lists. The first `batchDims`
/// dimensions of both are the same ones.
mlir::FailureOr<llvm::SmallVector<Tensor>> pointCoordinates(OpBinder &node, int64_t batchDims);

/// Coordinates of the cells that operand 1 names in operand 0. Along `axis` they are the indices of operand 1, along
/// other dimensions those of the index's own cell.
struct ElementPlaces {
  int64_t axis = 0;
  /// One tensor for each dimension of operand 0, each shaped as operand 1.
  llvm::SmallVector<Tensor> coordinates;
  /// If all lines along the axis have the same indices, these indices as a one-dimensional tensor; else null.
  Tensor rows;
  /// Whether operands 0 and 1 have the same lines.
  bool sameLines = false;
  /// Sizes of operands 0 and 1 along the axis, and cells of operand 1.
  int64_t size = 0, count = 0, cells = 0;

  /// Whether the indices are so few that each is compared with all positions. Unlike flattening, this keeps the lines
  /// apart, so that they can be sharded. A router's selection of experts is the case in mind.
  bool isFew() const { return sameLines && size * count <= kMostCompared; }
};
mlir::FailureOr<ElementPlaces> elementPlaces(OpBinder &node);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_COORDINATES_H
